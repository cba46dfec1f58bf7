"""Tags of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glados.web_fetch.conversion import Conversion
from glados.web_fetch.tag import INLINE, block
from glados.web_fetch.tags_list import whole_number

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_SPAN = 1000  # columns, as browsers have it
COLUMN = len(" | ---")


def table(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A table, with empty lines around it."""
    return f"\n\n{text.strip()}\n\n"


def cell(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A cell on one line, with as many bars behind it as it spans columns."""
    colspan = node.attributes.get("colspan")
    span = max(1, min(MAX_SPAN, whole_number(colspan))) if colspan and colspan.isdigit() else 1
    work.cells += span
    return f" {text.strip().replace(chr(10), ' ')}{' |' * span}"


def data_cell(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A cell that heads nothing."""
    work.plain_cells += 1
    return cell(work, node, text, context)


def enter_row(work: Conversion, node: LexborNode) -> None:
    """A row begins: from here on its cells are counted."""
    work.rows.append((work.cells, work.plain_cells))


def row(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A row; the first one has a line below it if it is the head, and an empty head above it if there is none."""
    cells, plain_cells = work.rows.pop()
    if not work.is_first(node):
        return f"|{text}\n"
    parent = work.parent(node)
    place = parent.tag if parent is not None else None
    columns = work.cells - cells
    work.spend(columns * COLUMN)
    if work.plain_cells == plain_cells or (parent is not None and place == "thead" and has_one_row(work, parent)):
        return f"|{text}\n{line(columns, '---')}"
    if parent is None or place != "tbody" or work.is_first(parent) or not is_headed(work, parent):
        return f"{line(columns, '')}{line(columns, '---')}|{text}\n"
    return f"|{text}\n"


def line(columns: int, text: str) -> str:
    """A row with the same text in every cell."""
    return f"| {' | '.join([text] * columns)} |\n"


def has_one_row(work: Conversion, head: LexborNode) -> bool:
    """Whether the head of a table is no more than a row."""
    rows = work.inside(head, "tr")
    return next(rows, None) is not None and next(rows, None) is None


def is_headed(work: Conversion, body: LexborNode) -> bool:
    """Whether the table of a body has a head anywhere; each table is searched once."""
    whole = work.parent(body) or body
    key = whole.mem_id
    if key not in work.headed:
        work.headed[key] = next(work.inside(whole, "thead"), None) is not None
    return work.headed[key]


TABLE_TAGS = {
    "table": block(table),
    "tbody": block(),
    "td": block(data_cell, INLINE),
    "tfoot": block(),
    "th": block(cell, INLINE),
    "thead": block(),
    "tr": block(row, enter=enter_row),
}
