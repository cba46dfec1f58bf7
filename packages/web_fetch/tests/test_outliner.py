from __future__ import annotations

from glados.web_fetch.html import parse_html
from glados.web_fetch.outline import Outline
from glados.web_fetch.outliner import draw


def outline(page: str, *, leave_out: bool = True) -> Outline:
    drawn = draw(parse_html(page), leave_out=leave_out)
    assert drawn is not None
    return drawn


def test_elements_stand_in_page_order_with_their_text() -> None:
    drawn = outline("<div>one, <p>two <b>three</b></p><p>four</p></div>tail<p>five")
    assert drawn.tags == ["body", "div", "p", "p", "p"]
    assert drawn.parents == [-1, 0, 1, 1, 0]
    assert drawn.ends == [5, 4, 3, 4, 5]
    assert drawn.text == [24, 16, 8, 4, 4]
    assert drawn.own_text == [4, 4, 8, 4, 4]
    assert drawn.commas == [1, 1, 0, 0, 0]
    assert list(drawn.children(0)) == [1, 4]
    assert drawn.count(0, "p", "div") == 4


def test_links_are_counted_and_links_inside_the_page_count_less() -> None:
    drawn = outline("<p><a href=/x>123456</a>123456</p><p><a href=#x>123456</a></p><p><a name=x>123456</a></p>")
    assert drawn.links == [8, 6, 2, 0]
    assert drawn.link_density(1) == 0.5
    assert drawn.plain_text(1) == 6


def test_what_says_that_it_is_beside_the_content_is_left_out() -> None:
    page = "<nav>n</nav><div class=sidebar>s</div><div role=navigation>r</div><p>text</p><footer>f</footer>"
    assert [node.tag for node in outline(page).beside] == ["nav", "div", "div", "footer"]
    assert outline(page).text[0] == 4
    assert outline(page, leave_out=False).text[0] == 8


def test_what_holds_the_title_is_never_left_out() -> None:
    assert outline("<div class=header><div class=banner><h1>Title</h1></div></div>").text[0] == 5


def test_a_heading_may_be_called_a_header_and_have_any_id() -> None:
    page = "<h2 class=Sub-Header>one</h2><h3 id=menu>two</h3><h3 class=related-header>beside</h3>"
    assert outline(page).text[0] == 6


def test_scripts_with_words_of_few_characters_count_double() -> None:
    assert outline("<p>潮が満ちた").text[0] == 10
    assert outline("<p>Käse").text[0] == 4


def test_a_page_of_too_many_nodes_has_no_outline() -> None:
    tree = parse_html("<p>x" * 50)
    assert draw(tree, leave_out=True, max_nodes=101) is not None
    assert draw(tree, leave_out=True, max_nodes=99) is None
