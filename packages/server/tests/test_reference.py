"""`config/settings.toml` and `docs/settings.md` tell every setting of glados and its built-in plugins."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, SecretStr

from glados.core.settings import RESERVED_SECTIONS
from glados.server import reference
from glados.server.sections import OWN, SectionModel

ROOT = Path(__file__).parents[3]
HOW = "write it anew with: python -m glados.server.reference"


def test_the_settings_file_is_up_to_date() -> None:
    assert (ROOT / reference.TOML_FILE).read_text() == reference.toml(reference.built_in_sections()), HOW


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / reference.MARKDOWN_FILE).read_text() == reference.markdown(reference.built_in_sections()), HOW


def test_every_section_of_glados_itself_is_told() -> None:
    assert {section.name for section in OWN} == RESERVED_SECTIONS
    assert {"database", "web_fetch"} <= {section.name for section in reference.built_in_sections()}


@pytest.mark.parametrize("section", reference.built_in_sections(), ids=lambda section: section.name)
def test_every_setting_is_described(section: SectionModel) -> None:
    assert section.model.__doc__
    assert [name for name, field in section.model.model_fields.items() if not field.description] == []


class Odd(BaseModel):
    """Every kind of default."""

    needed: str
    nothing: int | None = None
    text: str = Field(default='a "b" ü', description="With | a pipe.")
    truth: bool = True
    many: list[str] = ["a", "b"]
    table: dict[str, int] = {"x y": 1}
    path: Path = Path("/tmp")
    secret: SecretStr = SecretStr("hunter2")


def test_defaults_are_written_as_toml_reads_them() -> None:
    text = reference.toml([SectionModel("odd", Odd, "odd")])
    assert tomllib.loads(text) == {"odd": {}}
    set_lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and " = " in line]
    values = tomllib.loads("\n".join(line for line in set_lines if "(no default)" not in line))
    assert values == {
        "enabled": True,
        "text": 'a "b" ü',
        "truth": True,
        "many": ["a", "b"],
        "table": {"x y": 1},
        "path": "/tmp",
        "secret": "…",
    }
    assert "hunter2" not in text


def test_the_page_escapes_what_would_end_a_cell() -> None:
    page = reference.markdown([SectionModel("odd", Odd)])
    assert r"With \| a pipe." in page
    assert "hunter2" not in page


def test_both_files_are_written_below_a_folder(tmp_path: Path) -> None:
    reference.write(tmp_path)
    assert (tmp_path / "config/settings.toml").exists()
    assert (tmp_path / "docs/settings.md").exists()
