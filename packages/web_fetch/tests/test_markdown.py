from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdownify import ATX, MarkdownConverter
from selectolax.lexbor import LexborHTMLParser, LexborNode

from glados.web_fetch.markdown import to_markdown
from tests.soup import by_the_book, soup_of

SAMPLES = {
    path.stem: path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("markdown_samples/*.html")
}


def words(text: str) -> list[str]:
    return text.split()


# Tags with rules, and some that have none; each is drawn as often as the others.
INLINE = words("a abbr b code del em i kbd q s samp span strike strong sub sup u x-y label")
BLOCKS = words(
    "article aside blockquote caption center dd div dl dt figcaption figure h1 h2 h6 h7 h12x header li main"
    " noscript ol p pre section svg table tbody td tfoot th thead tr ul video script style title button select option"
)
VOID = words("br hr img input source wbr col embed")
ATTRIBUTES = [
    "",
    ' href="https://e.test/a_b" title=\'a "title"\'',
    ' href="x"',
    " href",
    ' src="p.png" alt="a *b*" title="t"',
    ' src poster="p"',
    ' start="7"',
    ' start="x"',
    ' colspan="3"',
    ' colspan="0"',
    ' class="a language-python"',
    ' class="lang-c++ language-"',
    ' type="checkbox" checked',
    ' type="CHECKBOX"',
]
TEXTS = [
    *(
        "a",
        "two words",
        " ",
        "\n",
        "\n\n",
        "\t",
        "  a  ",
        "\n  a\n\n  b \t c\n",
        "*a_b*",
        "`",
        "``x`",
        "x\\y",
        "1.",
        "- ",
    ),
    *(
        "https://e.test/a_b",
        "\u00a0",
        " \u00a0 ",
        "a\u00a0",
        "\x0c",
        "&#13;",
        "a&#13;\n b",
        "ä",
        "&lt;b&gt;",
        "[x]",
        "|",
    ),
    *("<!---->", "<!-- -->", "<!--a-->", "<?pi a?>", "</p>", "> q"),
]


def opened(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(ATTRIBUTES).map(lambda attributes: f"<{name}{attributes}>")


def element(name: str, inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(opened(name), inner).map(lambda parts: f"{parts[0]}{parts[1]}</{name}>")


def inside(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Elements around some children; lists and tables with what belongs in them are as likely as any tag."""
    inner = st.lists(children, max_size=4).map("".join)
    cells = st.lists(st.sampled_from(["td", "th"]).flatmap(lambda name: element(name, inner)), max_size=3).map("".join)
    rows = st.lists(element("tr", cells), min_size=1, max_size=3).map("".join)
    parts = st.sampled_from(["thead", "tbody", "tfoot", "caption"]).flatmap(lambda name: element(name, rows))
    items = st.lists(st.one_of(element("li", inner), children), max_size=4).map("".join)
    return st.one_of(
        st.sampled_from([*INLINE, *BLOCKS]).flatmap(lambda name: element(name, inner)),
        st.sampled_from(["ol", "ul"]).flatmap(lambda name: element(name, items)),
        element("table", st.lists(st.one_of(parts, rows), max_size=3).map("".join)),
        inner,
    )


LEAVES = st.one_of(
    st.sampled_from(TEXTS), st.sampled_from(VOID).flatmap(opened), st.text(max_size=8).filter(str.isprintable)
)
PAGES = st.recursive(LEAVES, inside, max_leaves=40)


def root(html: str) -> LexborNode:
    node = LexborHTMLParser(html).root
    assert node is not None
    return node


def markdown(html: str) -> str:
    return to_markdown(root(html))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_converted_by_the_book(name: str) -> None:
    page = root(SAMPLES[name])
    assert to_markdown(page) == by_the_book(page)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "gfm"])
def test_the_book_is_markdownify_but_for_what_it_adds(name: str) -> None:
    page = root(SAMPLES[name])
    assert by_the_book(page) == MarkdownConverter(heading_style=ATX).convert_soup(soup_of(page)).strip()


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(PAGES)
def test_any_page_is_converted_by_the_book(html: str) -> None:
    page = root(html)
    assert to_markdown(page) == by_the_book(page)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(PAGES, st.integers(0, 100))
def test_any_part_of_a_page_is_converted_as_if_it_stood_alone(html: str, place: int) -> None:
    nodes = [node for node in root(html).traverse() if node.is_element_node]
    node = nodes[place % len(nodes)]
    assert to_markdown(node) == by_the_book(node)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(PAGES, st.sets(st.integers(2, 30), min_size=1, max_size=5))
def test_a_page_that_parts_were_taken_out_of_is_converted_by_the_book(html: str, places: set[int]) -> None:
    page = root(html)
    for place, node in enumerate(list(page.traverse(include_text=True))):
        if place in places and node.tag not in {"html", "body"}:
            node.decompose()
    assert to_markdown(page) == by_the_book(page)


def test_the_state_of_tasks_stays() -> None:
    tasks = '<ul><li><input type="checkbox" checked> done<li><input type=checkbox>open<li><input type=text> field</ul>'
    assert markdown(tasks) == "* [x] done\n* [ ] open\n* field"
    assert markdown("<p><input type=checkbox> no task</p>") == "no task"


def test_strikethrough_stays() -> None:
    assert markdown("<p><del>a</del> <s>b</s> <strike>c</strike>") == "~~a~~ ~~b~~ ~~c~~"


@pytest.mark.parametrize(
    ("block", "language"),
    [
        ("<pre><code class='hljs language-python'>x</code></pre>", "python"),
        ("<pre class='lang-c++'>x</pre>", "c++"),
        ("<pre class='highlight-source-shell'>x</pre>", "shell"),
        ("<pre class='language-`'>x</pre>", ""),
        (f"<pre class='language-{'x' * 31}'>x</pre>", ""),
        ("<pre class>x</pre>", ""),
    ],
)
def test_the_language_of_code_stays(block: str, language: str) -> None:
    assert markdown(block) == f"```{language}\nx\n```"


def test_numbers_that_are_none_count_as_one() -> None:
    assert markdown("<ol start='\u00b3'><li>words</ol>") == "1. words"
    assert markdown(f"<ol start='{'9' * 5000}'><li>words</ol>") == "1. words"
    assert markdown("<table><tr><th colspan='\u00b2'>words</th></table>") == "| words |\n| --- |"


def test_a_tag_that_is_named_like_a_method_is_like_any_other() -> None:
    page = f"<soup>a</soup> <list>b</list> <fn-cache>c</fn-cache> <h{'1' * 5000}>d</h>"
    assert markdown(page) == "a b c d"


def test_the_tree_stays_as_it_is() -> None:
    page = root(SAMPLES["article"])
    before = page.html
    to_markdown(page)
    assert page.html == before
