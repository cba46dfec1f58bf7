from __future__ import annotations

import pytest

from glados.web_fetch.extract import main_content
from glados.web_fetch.hidden import remove_hidden
from glados.web_fetch.html import parse_html
from glados.web_fetch.links import page_links
from glados.web_fetch.metadata import page_title
from glados.web_fetch.style import sight
from tests.reader import SECRET, seen


@pytest.mark.parametrize(
    "element",
    [
        "<script>{}</script>",
        "<style>{}</style>",
        "<template><p>{}</p></template>",
        "<noscript><p>{}</p></noscript>",
        "<iframe>{}</iframe>",
        "<object><p>{}</p></object>",
        "<canvas>{}</canvas>",
        "<noembed>{}</noembed>",
        "<video><source src=v.mp4>{}</video>",
        "<audio><p>{}</p></audio>",
        "<dialog><p>{}</p></dialog>",
        "<svg><title>{}</title><desc>{}</desc></svg>",
        "<math><semantics><annotation>{}</annotation></semantics></math>",
        "<p hidden>{}</p>",
        "<p HIDDEN=''>{}</p>",
        "<div hidden><p><b>{}</b></p></div>",
        "<p aria-hidden=true>{}</p>",
        "<p aria-hidden=TRUE>{}</p>",
        "<p style='display:none'>{}</p>",
        "<div style='display:none'><main><h1>{}</h1></main></div>",
        "<div style='display:none'><p style='display:block'>{}</p></div>",
        "<!-- {} -->",
    ],
)
def test_what_nobody_sees_is_gone(element: str) -> None:
    assert seen(f"<p>before</p>{element.replace('{}', SECRET)}<p>after</p>") == "before after"


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        " DISPLAY : None !important",
        "color:red;display:none",
        "visibility:hidden",
        "visibility: collapse",
        "opacity:0",
        "opacity:0.0",
        "opacity: .0;",
        "opacity:0.01",
        "filter: opacity(0)",
        "color:transparent",
        "color:rgba(0,0,0,0)",
        "color: rgb(10 20 30 / 0%)",
        "color:hsla(0, 0%, 0%, .0)",
        "color:#0000",
        "color:#ffffff00",
        "color:#fff;background:#fff",
        "background-color: White; color:white",
        "font-size:1px",
        "font-size:.5px",
        "max-height:0px;overflow-y:hidden",
        "font-size:0",
        "font-size:1pt",
        "font-size:2px",
        "font-size:0.1em",
        "font-size:1%",
        "opacity:1%",
        "transform:rotate(1deg) scale(0)",
        "font-size: 0px",
        "font: 0/0 a",
        "position:absolute;left:-9999px",
        "position:absolute;top:-1000em",
        "position:fixed;right:-100%",
        "text-indent:-9999px",
        "margin-left:-10000px",
        "height:0;overflow:hidden",
        "width:1px;height:1px;overflow:hidden",
        "clip:rect(0 0 0 0)",
        "clip: rect(1px, 1px, 1px, 1px)",
        "clip-path: inset(50%)",
        "transform:scale(0)",
        "transform: translateX(-9999px)",
        r"d\69splay:none",
        "color:#fff;background:rgba(255, 255, 255, 1)",
        "color:#fff;background-color:#ffff",
        "-webkit-text-fill-color:transparent",
        "color:transparent;background-clip:padding-box",
        r"display:\6eone",
        "display:/**/none",
    ],
)
def test_styles_that_hide(style: str) -> None:
    assert sight(style) in ("hidden", "blank")
    assert seen(f'<p>before</p><p style="{style}">{SECRET}</p>') == "before"


@pytest.mark.parametrize(
    "style",
    [
        "",
        "display:block",
        "opacity:0.5",
        "opacity:0.1",
        "color:rgb(10,0,0)",
        "color:rgba(0,0,0,0.7)",
        "color:rgb(0 0 0 / 70%)",
        "color:#000000",
        "color:#000",
        "color:#ff0000",
        "color:#fff;background:#000",
        "background:#fff",
        "color:",
        "font-size:10px",
        "font-size:0.2em",
        "font-size:10%",
        "font-size:12pt",
        "opacity:10%",
        "font-size:1.5em",
        "overflow-y:hidden;overflow-x:hidden",
        "opacity:1",
        "opacity:",
        "font-size:0.9em",
        "font:12px/1 Arial",
        "left:-50%",
        "margin-left:-470px",
        "text-indent:-2em",
        "top:-10px",
        "height:0",
        "line-height:0;overflow:hidden",
        "height:0;overflow:hidden;padding-bottom:56.25%",
        "transform:translate(-50%,-50%)",
        "background:url(a?display:none)",
        "color:#000;background:rgba(0,0,0,0.1)",
        "color:#000;background:rgb(0 0 0 / 5%)",
        "color:#000;background-color:#0001",
        "color:#000;background:transparent",
        "color:#fff;background:#ffffff1a",
        "color:#fff;background-color:#fff;background-image:url(dark.png)",
        "color:#fff;background-image:linear-gradient(red,blue);background-color:white",
        "background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent",
        "background-clip:text;-webkit-text-fill-color:transparent",
        "opacity:0;transform:translateY(20px)",
        "opacity:0.001;will-change:opacity",
        "opacity:0;animation:appear 1s forwards",
        "visibility:hidden;animation-name:none",
        "max-width:0;overflow:hidden;text-overflow:ellipsis",
        "flex:1;width:0;overflow:hidden",
        "\\",
        "\\110000;",
        ";:;",
    ],
)
def test_styles_that_do_not_hide(style: str) -> None:
    assert sight(style) == "seen"


@pytest.mark.parametrize(
    ("hides", "shows"), [("font-size:0", "font-size:16px"), ("visibility:hidden", "visibility:visible")]
)
def test_what_says_otherwise_is_seen_in_what_shows_nothing(hides: str, shows: str) -> None:
    inside = f"{SECRET}<b>{SECRET}</b><p><i>{SECRET}</i><span {{shows}}>words <b>all</b></span></p>"
    inner = inside.replace("{shows}", f"style='{shows}'")
    assert seen(f"<div style='{hides}'><div style='{hides}'>{inner}</div></div>more") == "words all more"
    assert seen(f"<body style='{hides}'>more {inner}").startswith("more")
    sheet = f"<style>.a{{{hides}}} .a .b{{{shows}}}</style>"
    assert seen(f"{sheet}<div class=a>{inside.replace('{shows}', 'class=b')}</div>more") == "words all more"


def test_what_a_click_or_a_search_opens_stays() -> None:
    assert seen("<details><summary>More</summary>words</details>") == "More words"
    assert seen("<div hidden=until-found>words</div>") == "words"
    assert seen("<dialog open>words</dialog>") == "words"


def test_the_substance_of_a_page_stays_though_it_is_marked_for_screen_readers() -> None:
    assert seen("<div aria-hidden=true><main><p>words</p></main></div><i aria-hidden=true>icon</i>") == "words"
    assert seen("<body aria-hidden=true style='opacity:0'><p>words</p>") == "words"
    assert seen("<p aria-hidden=false>words</p>") == "words"


def test_hidden_text_reaches_no_part_of_the_result() -> None:
    text = "Words that people read, with commas, and enough of them to be found as the content of the page. " * 8
    page = f"""<title>Real</title><body><div hidden><title>{SECRET}</title><a href=/x>{SECRET}</a></div>
    <svg><title>{SECRET}</title></svg><article><p>{text}</p><p style=opacity:0>{SECRET}</p>
    <a href=/y>seen <span style="font-size:0">{SECRET}</span></a><p>{text}</p></article>"""
    tree = parse_html(page)
    remove_hidden(tree)
    assert page_title(tree) == "Real"
    assert page_links(tree, "https://good.test/") == [{"text": "seen", "href": "https://good.test/y"}]
    content = main_content(tree)
    assert content is not None
    assert "Words that people read" in content.text()
    assert SECRET not in str(tree.html).replace(f"<!-- {SECRET} -->", "")


def test_many_hidden_elements_inside_each_other() -> None:
    assert seen("<p>words</p>" + "<div aria-hidden=true>" * 3000 + SECRET) == "words"
    assert seen("<p>words</p>" + "<div aria-hidden=true>" * 3000 + "<main>x") == "words x"
    assert seen("<p>words</p>" + "<div style=display:none>" * 3000 + SECRET) == "words"
