from __future__ import annotations

import pytest

from glados.web_fetch.convert import convert
from glados.web_fetch.media import Media
from glados.web_fetch.pages import Source
from tests.reader import SECRET, seen


def with_sheet(sheet: str, element: str = "<p class='a b' id=c>secret</p>") -> str:
    return seen(f"<head><style>{sheet}</style></head><p>before</p>{element}<p>after</p>")


@pytest.mark.parametrize(
    "sheet",
    [
        ".a{display:none}",
        ".a { display : none ; }",
        ".a{display:none",
        "p{} .a\n{\n\tcolor: red;\n\tdisplay: none !important\n}",
        "#c{display:none}",
        "p.a{display:none}",
        "P.a{DISPLAY:NONE}",
        r".\61{display:none}",
        r"#\000063 {d\69splay:n\6f ne}",
        ".a{font-size:1%}",
        ".a{font-size:1pt}",
        ".a.b{display:none}",
        "p#c.a{display:none}",
        ".x,.a,.y{display:none}",
        "body .a{display:none}",
        "html > body > p.a{display:none}",
        "* .a{display:none}",
        ".a{visibility:hidden}",
        ".a{visibility:collapse}",
        ".a{opacity:0}",
        ".a{filter:opacity(0)}",
        ".a{font-size:0}",
        ".a{color:transparent}",
        ".a{position:absolute;left:-9999px}",
        ".a{text-indent:-10000px}",
        ".a{transform:scale(0)}",
        ".a{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)}",
        ".a{clip-path:inset(50%)}",
        "/* .a{} */.a{/* why */display:none}",
        "<!-- .a{display:none} -->",
        "@media screen{.a{display:none}}",
        "@media all{.a{display:none}}",
        "@supports (display:grid){.a{display:none}}",
        "@layer base{.a{display:none}}",
        "@charset 'utf-8';.a{display:none}",
        ".a{display:block}.a{display:none}",
        ".a{display:none}p{display:block}",
        ".a{display:none}.a2{display:block}",
        ".a{display:none}.b{color:red}",
        ".a{display:none}.a::before{display:block}",
        ".a{display:none!important}.a.open{display:block}",
        ".x{content:'{'}.a{display:none}",
        ".x{content:'/*'}.a{display:none}",
        "/* don't */.a{display:none}/* can't */",
        ".a{display:none}.a:before,.a:after{display:block}",
    ],
)
def test_rules_that_hide(sheet: str) -> None:
    assert with_sheet(sheet) == "before after"


@pytest.mark.parametrize(
    "sheet",
    [
        "",
        "}",
        "{",
        ".a",
        ".a{",
        ".x{display:none}",
        ".A{display:none}",
        "div.a{display:none}",
        ".a.x{display:none}",
        ".x .a{display:none}",
        ".a .b{display:none}",
        ".a:hover{display:none}",
        ".a::before{display:none}",
        ".a[hidden]{display:none}",
        ".a:not(.b){display:none}",
        "h1 + .a{display:none}",
        "h1 ~ .a{display:none}",
        "@media print{.a{display:none}}",
        "@media (max-width:600px){.a{display:none}}",
        "@media screen and (max-width:600px){.a{display:none}}",
        "@media print{@media screen{.a{display:none}}}",
        "@keyframes x{.a{display:none}}",
        ".a{display:block}",
        ".a{overflow:hidden}",
        ".a{text-decoration:none}",
        ".a{opacity:0.5}",
        ".a{background-clip:text}",
        "/* .a{display:none} */",
        "/* .a{display:none}",
        ".a{display:none}.a{display:block}",
        "p.a{display:block}.a{display:none}",
        "#c{display:block}.a{display:none}",
        ".a{display:block!important}.a{display:none}",
        ".a{display:none}.b{display:block}",
        ".a{display:none}@media (min-width:600px){.a{display:block}}",
        ".a{display:none}.open .a{display:block}",
        ".a{display:none}.a:target{display:block}",
        ".a{display:none}.x:focus-within .a{display:block}",
        ".a{display:none}.a[data-x]{display:block}",
        ".a{opacity:0}.a.b{opacity:1}",
        ".a{opacity:0}.a.open{opacity:1}",
        ".x{color:red}.a{color:transparent}.b{background-clip:text}",
        '.x{content:\'}\'}@media print{.y{content:"\\"}"}.a{display:none}}',
        ".1{display:none}.-{display:none}.a..b{display:none}",
    ],
)
def test_rules_that_do_not_hide(sheet: str) -> None:
    assert with_sheet(sheet) == "before secret after"


def test_what_an_element_says_itself_is_weightier() -> None:
    assert with_sheet(".a{display:none}", "<p class=a style='display:block'>words</p>") == "before words after"
    assert with_sheet(".a{display:none!important}", "<p class=a style='display:block'>x</p>") == "before after"


def test_names_may_hold_what_sheets_escape() -> None:
    sheet = r".hidden{display:none}@media (min-width:1px){.md\:block{display:block}}.w-1\/2{opacity:0}"
    assert with_sheet(sheet, "<p class='hidden md:block'>words</p>") == "before words after"
    assert with_sheet(sheet, "<p class='hidden lg:block'>secret</p>") == "before after"
    assert with_sheet(sheet, "<p class=w-1/2>secret</p>") == "before after"


def test_rules_may_ask_for_what_is_around() -> None:
    inside = "<div class=x><section><p class=a>secret</p></section></div>"
    for sheet in (".x .a{display:none}", "div.x > section > .a{display:none}", "section .a{display:none}"):
        assert with_sheet(sheet, inside) == "before after"
    for sheet in (".a .x{display:none}", ".y .a{display:none}", ".x .x .a{display:none}", ".x + div .a{display:none}"):
        assert with_sheet(sheet, inside) == "before secret after"


def test_the_state_that_scripts_give_to_a_page_hides_nothing() -> None:
    for page in ("<html class=no-js>", "<body class=no-js>"):
        assert seen(f"{page}<style>.no-js .a{{display:none}}</style><p class=a>words</p>") == "words"


def test_only_sheets_for_the_screen_count() -> None:
    for media in ("print", "(max-width:600px)", "screen and (max-width:600px)"):
        assert seen(f"<style media='{media}'>.a{{display:none}}</style><p class=a>words</p>") == "words"
    for media in ("", "all", "screen", " SCREEN "):
        assert seen(f"<p>words</p><style media='{media}'>.a{{display:none}}</style><p class=a>{SECRET}</p>") == "words"
    assert seen("<noscript><style>.a{display:none}</style></noscript><p class=a>words</p>") == "words"


def test_a_sheet_that_is_not_closed_ends_with_its_element() -> None:
    page = "<style>@media print{.x{color:red}</style><style>.a{display:none}</style><p>words</p><p class=a>secret</p>"
    assert seen(page) == "words"
    page = "<style>.x{}}</style><style>@media print{.a{display:none}}</style><p class=a>words</p>"
    assert seen(page) == "words"


def test_the_page_itself_is_not_hidden_by_its_sheet() -> None:
    for sheet in ("body{opacity:0}", "html{visibility:hidden}", ".a{display:none}"):
        assert seen(f"<style>{sheet}</style><body class=a><div class=a><main>words</main></div>") == "words"


def test_a_page_that_its_sheet_hides_until_scripts_have_run_is_read_all_the_same() -> None:
    html = b"<style>#app{display:none}</style><div id=app><p>All the words.</p></div>"
    page = convert(Source("https://good.test/", Media("text/html", "utf-8"), html), "markdown", "main")
    assert page.text == "All the words."


def test_most_of_a_page_is_not_hidden_by_its_sheet() -> None:
    sheet, many = "<style>.a{display:none}.b{font-size:0}.f{display:none}</style>", "words " * 100
    assert seen(f"{sheet}<p>Loading</p><div class=a><p>{many}</p></div>").startswith("Loading words")
    assert seen(f"{sheet}<p>Loading</p><p class=b>{many}</p>{f'<p class=a>{many}</p>' * 9}").count("words") == 1000
    assert seen(f"{sheet}<p>{many}</p><div class=a><p class=a>{many}</p></div>") == many.strip()
    assert seen(f"{sheet}<p>few</p><div class=a>{SECRET * 9}</div>") == "few"


@pytest.mark.parametrize(
    "element",
    [
        "<p style='color:white'>{}</p>",
        "<p style='color:#FFF'>{}</p>",
        "<p style='color:#fefefe'>{}</p>",
        "<p style='color:rgb(255, 255, 255)'>{}</p>",
        "<p style='color: rgb(99% 99% 99%)'>{}</p>",
        "<font color=white>{}</font>",
        "<font color='#ffffff'>{}</font>",
        "<font color=FFFFFF>{}</font>",
        "<table bgcolor=FFFFFF><tr><td><font color=FFFFFF>{}</font></td></tr></table>",
        "<p class=w>{}</p>",
        "<div style='background:#fff'><p style='color:white'>{}</p></div>",
        "<table bgcolor=white><tr><td><p style='color:white'>{}</p></td></tr></table>",
        "<p style='color:white;background:none'>{}</p>",
    ],
)
def test_white_text_is_hidden_where_nothing_else_is_behind_it(element: str) -> None:
    page = f"<style>.w{{color:white}} body{{background:#fff}}</style><p>before</p>{element.replace('{}', SECRET)}"
    assert seen(page) == "before"


@pytest.mark.parametrize(
    "page",
    [
        "<p style='color:white;background:black'>{}</p>",
        "<p style='color:white;background:url(dark.png)'>{}</p>",
        "<div style='background:navy'><p style='color:white'>{}</p></div>",
        "<body bgcolor=black><p style='color:white'>{}</p>",
        "<body background=dark.png><p style='color:white'>{}</p>",
        "<table bgcolor='#000080'><tr><td><font color=white>{}</font></td></tr></table>",
        "<style>body{background:#000}</style><p style='color:white'>{}</p>",
        "<style>.w{color:white;background-color:#123}</style><p class=w>{}</p>",
        "<style>.w{color:white}.x{background-image:url(x.png)}</style><p class=w>{}</p>",
        "<style>@import url(x.css)</style><p style='color:white'>{}</p>",
        "<link rel=stylesheet href=x.css><p style='color:white'>{}</p>",
        "<link rel='preload STYLESHEET' href=x.css><font color=white>{}</font>",
        "<p style='color:#ddd'>{}</p>",
        "<font color=red>{}</font>",
        "<table bgcolor=000080><tr><td><font color=FFFFFF>{}</font></td></tr></table>",
    ],
)
def test_white_text_is_seen_where_something_else_may_be_behind_it(page: str) -> None:
    assert seen(page.replace("{}", "words")) == "words"


def test_hidden_links_are_no_links() -> None:
    html = (
        f"<style>.a{{display:none}}</style><a href=/x>seen <b class=a>{SECRET}</b></a><a class=a href=/y>{SECRET}</a>"
    )
    page = convert(Source("https://good.test/", Media("text/html", "utf-8"), html.encode()), "links", "page")
    assert page.text == '[{"text": "seen", "href": "https://good.test/x"}]'


def test_hidden_elements_inside_each_other() -> None:
    many = "<div class=a aria-hidden=true hidden style='display:none;color:white'>" * 2000
    assert with_sheet(".a{display:none}", many + SECRET + "</div>" * 2000) == "before after"


def test_rules_may_be_about_the_outermost_element() -> None:
    assert seen("<html class=a><style>.x .a{display:none}</style><p>words</p>") == "words"
