from __future__ import annotations

import pytest

from glados.web_fetch.extract import main_content
from glados.web_fetch.hidden import remove_hidden
from glados.web_fetch.html import parse_html

WORDS = "The tide came in at noon, slowly at first, and the boats in the harbour began to lift from the mud. "
LINKS = "".join(f"<li><a href=/{name}>{name.title()} news</a></li>" for name in ("home", "sport", "money", "weather"))

NOISY = f"""<!doctype html><title>Tides</title><body>
<header class=site-header><a href=/>The Daily Harbour</a></header>
<nav><ul>{LINKS}</ul></nav>
<div class="cookie-banner"><p>We use cookies, as everybody does, and want your consent, please, now.</p></div>
<article><h1>The tide</h1><p>{WORDS * 2}</p><div class=ad-slot>Buy a boat, cheap, today only!</div><p>{WORDS * 3}</p>
<ul><li>Low water at six</li><li>High water at noon</li></ul><p>{WORDS}</p>
<div class="share-buttons"><a href=#>Tweet</a> <a href=#>Pin</a></div></article>
<aside><h2>Most read</h2><ul>{LINKS}</ul></aside>
<section class=comments><p>First! I was there, too, and it was wetter than you say, believe me.</p></section>
<footer>Imprint, privacy, and nothing else of interest, copyright us.</footer>"""


def content(page: str) -> str | None:
    tree = parse_html(page)
    remove_hidden(tree)
    node = main_content(tree)
    return None if node is None else " ".join(node.text(separator=" ").split())


def test_ac2_2_a_noisy_page_gives_its_article_alone() -> None:
    text = content(NOISY)
    assert text is not None
    assert text.startswith("The tide The tide came in at noon")
    assert text.count("slowly at first") == 6
    assert "Low water at six" in text
    for noise in ("news", "Daily", "cookies", "cheap", "Tweet", "Most read", "First!", "Imprint"):
        assert noise not in text


def test_ac2_6_a_page_with_too_little_text_is_left_whole() -> None:
    for page in ("<div>some text</div>", "<p>Short, and to the point.</p>", f"<nav>{LINKS}</nav>", "", "<frameset>"):
        tree = parse_html(page)
        before = tree.html
        assert main_content(tree) is None
        assert tree.html == before


def test_a_section_stays_though_its_heading_sounds_like_clutter() -> None:
    page = f"<article><p>{WORDS * 2}</p><div id=share-a-boat><p>{WORDS * 3}</p></div><p>{WORDS}</p></article>"
    assert str(content(page)).count("slowly at first") == 6


def test_code_that_links_to_what_it_uses_stays() -> None:
    code = "<div><pre>class Tide(<a href=/sea>Sea</a>, <a href=/moon>Moon</a>)</pre></div>"
    assert "Moon" in str(content(f"<article><p>{WORDS * 3}</p>{code}<p>{WORDS * 3}</p></article>"))


@pytest.mark.parametrize("names", ["code-toolbar", "CodeMirror-scroll", "media", "scroll-x"])
def test_code_and_tables_stay_whatever_holds_them(names: str) -> None:
    code = f"<div class='{names}'><pre><code>x = tide()</code></pre></div>"
    table = "<div class='table-scroll scroll-x'><table><tr><th>Mast<td>three</table></div>"
    text = str(content(f"<article><p>{WORDS * 3}</p>{code}<p>{WORDS * 3}</p>{table}</article>"))
    assert "x = tide()" in text
    assert "three" in text


def test_a_table_and_a_long_paragraph_stay_though_they_have_links() -> None:
    table = "<table><tr><td><a href=/a>Alpha dock</a><td>open<tr><td><a href=/b>Beta dock</a><td>full</table>"
    links = f"<div>{WORDS}{WORDS}<a href=/mud>{WORDS[:90]}</a></div>"
    text = str(content(f"<article><p>{WORDS * 3}</p>{table}{links}<p>{WORDS * 3}</p></article>"))
    assert "Beta dock" in text
    assert text.count("slowly at first") == 9


def test_a_chapter_with_many_links_stays() -> None:
    part = (
        "<p>The boats <a href=/boats>with three masts and more of them</a> are all made of wood from the old hills.</p>"
    )
    chapter = f"<div><h2>Boats</h2>{part * 12}</div>"
    assert "hills" in str(
        content(f"<article><p>{WORDS * 9}</p><p>{WORDS * 9}</p>{chapter}<p>{WORDS * 9}</p></article>")
    )


def test_a_list_of_linked_words_stays_with_its_checkboxes() -> None:
    items = "".join(f"<li><input type=checkbox> {number} spoons of <a href=/salt>salt</a></li>" for number in range(8))
    recipe = f"<div><h3>Ingredients</h3><ul>{items}</ul></div>"
    assert "7 spoons of salt" in str(content(f"<article><p>{WORDS * 3}</p>{recipe}<p>{WORDS * 3}</p></article>"))


def test_a_heading_that_is_a_button_stays() -> None:
    answer = f"<h3><button>How high?</button></h3><div><p>{WORDS}</p></div>"
    text = str(content(f"<main>{answer * 6}<button>Send</button></main>"))
    assert text.count("How high?") == 6
    assert "Send" not in text


def test_an_index_keeps_its_lists_of_links() -> None:
    part = f"<section><h2>Chapter</h2><ul>{LINKS}</ul></section>"
    page = f"<main><h1>Contents</h1><p>{WORDS}</p><p>{WORDS}</p>{part * 12}</main>"
    assert str(content(page)).count("Weather news") == 12


def test_links_around_a_short_text_do_not_stay() -> None:
    links = f"<div><h3>More</h3><ul>{LINKS * 3}</ul></div>"
    text = str(content(f"<div class=post><p>{WORDS * 3}</p><p>{WORDS * 3}</p></div>{links}"))
    assert "Weather" not in text


@pytest.mark.parametrize("names", ["has-ads", "row fixed-sidebar-layout", "artpagination"])
def test_most_of_a_page_is_its_content_whatever_it_is_called(names: str) -> None:
    teasers = (
        "<article><h3><a href=/mud>Mud</a></h3><p>Mud, in the harbour and elsewhere, is deep and dark.</p></article>"
    )
    page = f"<h1>Tides</h1><div class='{names}'>{f'<p>{WORDS * 2}</p>' * 4}</div><div class=cards>{teasers * 15}</div>"
    assert str(content(page)).count("slowly at first") == 8


def test_a_sidebar_of_many_words_and_many_comments_stay_out() -> None:
    about = f"<div class=sidebar><p>{WORDS * 2} aside</p></div>"
    comments = f"<div class=comments>{f'<p>{WORDS * 2} aside</p>' * 9}</div>"
    assert "aside" not in str(content(f"<div>{f'<p>{WORDS * 2}</p>' * 4}</div>{about}{comments}"))


@pytest.mark.parametrize(
    "page",
    [
        "<div><div><h1>Tide</h1></div></div><ul>{links}</ul><div><div>{text}</div></div>",
        "<table><tr><td colspan=2><h1>Tide</h1><tr><td><ul>{links}</ul><td>{text}</table>",
    ],
)
def test_the_title_comes_from_further_up(page: str) -> None:
    text = content(page.format(links=LINKS, text=f"<p>{WORDS * 3}</p>" * 3))
    assert str(text).startswith("Tide The tide")
    assert "news" not in str(text)


def test_the_name_of_the_site_is_no_title() -> None:
    name = "<div><h1><a href=/>The Daily Harbour</a></h1></div>"
    text = f"<div><div>{f'<p>{WORDS * 3}</p>' * 3}</div></div>"
    assert "Harbour" not in str(content(f"{name}<ul>{LINKS}</ul>{text}"))


def test_a_second_heading_above_a_title_is_none() -> None:
    text = f"<main><h1>Tide</h1>{f'<p>{WORDS * 3}</p>' * 3}</main>"
    for header in ("<header><h1>Tide</h1></header>", "<h1>The Daily Harbour</h1>"):
        assert str(content(f"{header}{text}")).startswith("Tide The tide")


def test_a_sidebar_as_in_books_is_a_note() -> None:
    note = f"<div class=sidebar><p><b>Tip</b></p><p>{WORDS}</p></div>"
    menu = f"<div class=sidebar><h2>More</h2><p>{WORDS}</p><ul>{LINKS}</ul></div>"
    text = str(content(f"<div><p>{WORDS * 3}</p>{note}<p>{WORDS * 3}</p>{menu}</div>"))
    assert "Tip" in text
    assert "More" not in text


def test_text_beside_the_first_part_of_the_content_is_joined() -> None:
    page = f"<div><div><p>{WORDS * 4}</p><p>{WORDS * 4}</p></div><div><p>second {WORDS * 3}</p></div></div>"
    assert "second" in str(content(page))


def test_other_chapters_stand_further_up() -> None:
    chapter = f"<div><h2>Chapter</h2><div class=text><p>{WORDS * 2}</p></div></div>"
    long = f"<div><h2>Chapter</h2><div class=text>{f'<p>{WORDS * 2}</p>' * 4}</div></div>"
    assert str(content(f"<div>{chapter}{long}{chapter}</div><ul>{LINKS}</ul>")).count("Chapter") == 3


@pytest.mark.parametrize(
    "tag", ["div", "ul><li", "b", "article", "table><tr><td", "div class=header", "section hidden-x"]
)
def test_nesting_has_no_limit(tag: str) -> None:
    text = content(f"<{tag}>" * 3000 + f"<p>{WORDS * 10}</p>")
    assert text is None or "slowly at first" in text


def test_a_page_of_more_nodes_than_anybody_reads_is_left_whole() -> None:
    tree = parse_html("".join(f"<p><b x={number}>" for number in range(1100)))
    assert main_content(tree) is None
