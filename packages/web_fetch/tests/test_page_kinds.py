"""Pages as they are built on the web, one of each kind: what has to be found says so, and so does what must not."""

from __future__ import annotations

import re

import pytest

from glados.web_fetch.extract import main_content
from glados.web_fetch.hidden import remove_hidden
from glados.web_fetch.html import parse_html

WORDS = "The tide came in at noon, slowly at first, and the boats in the harbour began to lift from the mud. "
_ITEMS = "".join(f"<li><a href=/n{number}>NOISE menu {number}</a></li>" for number in range(30))
_NAV = f"<nav><ul>{_ITEMS}</ul></nav>"
_MENU = f"<div class=left-col><ul>{_ITEMS}</ul></div>"
_FOOTER = "<footer><p>NOISE, copyright, imprint, and all rights reserved, everywhere.</p></footer>"
_STORIES = "".join(f"<li><a href=/r{number}>NOISE about boats and the sea {number}</a></li>" for number in range(6))
_RELATED = f"<div class=related-posts><h3>NOISE</h3><ul>{_STORIES}</ul></div>"


def _page(body: str) -> str:
    return f"<!doctype html><title>Tides</title><body>{_NAV}{body}{_FOOTER}"


def _many(part: str, count: int = 8) -> str:
    return "".join(part.replace("{n}", str(number)) for number in range(count))


PAGES = {
    "a banner with the heading": _page(
        "<section class='hero banner'><h1>KEEP0</h1><p>KEEP1 The platform for teams, of all sizes.</p></section>"
        + _many(f"<section class=feature><h2>KEEP2{{n}}</h2><p>{WORDS}</p></section>", 6)
    ),
    "news": _page(
        f"""<main><article><header><h1>KEEP0</h1><p class=byline>By Ann</p></header><p>{WORDS * 3}KEEP1</p>
        <figure><img src=a><figcaption>KEEP2</figcaption></figure><h2>KEEP3</h2><p>{WORDS * 3}KEEP4</p>
        </article></main>{_RELATED}"""
    ),
    "a blog of divs": f"""<div id=top><div class=menu>{_MENU}</div></div><div id=wrap><div class=post><div>KEEP0</div>
        <div>{WORDS * 2}KEEP1<br><br>{WORDS * 3}<br><br>{WORDS}KEEP2</div></div>
        <div class=sidebar>{_RELATED}</div></div><div class=bottom-footer>NOISE</div>""",
    "divs without names": f"""<div id=root><div class=css-1a><div class=css-2>{_MENU}</div><div class=css-3>
        <div class=css-4><span>KEEP0</span></div><div class=css-5><span>{WORDS * 2}KEEP1</span></div>
        <div class=css-5><span>{WORDS * 3}KEEP2</span></div></div></div></div>""",
    "elements of its own": f"""<app-shell><app-nav>{_MENU}</app-nav><app-main><x-title>KEEP0</x-title>
        <x-text>{WORDS * 2}KEEP1</x-text><x-text>{WORDS * 4}KEEP2</x-text></app-main></app-shell>""",
    "documentation": _page(
        f"""<div class=layout><div class=sidebar>{_MENU}</div><div class=doc-content><h1>KEEP0</h1><p>{WORDS}</p>
        <h2>Install</h2><pre><code>pip install KEEP1</code></pre><p>Then run:</p><pre>run --KEEP2</pre>
        <aside class=note><p>KEEP3 Mind the mud, it is deep.</p></aside>
        <table><tr><th>Name<th>Meaning<tr><td>--KEEP4<td>does it</table><ul><li><a href=#a>KEEP5</a></li></ul>
        <p>{WORDS}</p>        <h2>See also</h2>
        <ul><li><a href=/x>KEEP6 link</a></li><li><a href=/y>KEEP7 link</a></li></ul></div></div>"""
    ),
    "a reference": _page(
        "<main><h1>KEEP_</h1>"
        + _many("<dl><dt>f{n}()</dt><dd><p>KEEP{n} It does it well, always, and returns.</p></dd></dl>")
        + "</main>"
    ),
    "a forum": _page(
        "<div id=page><h1>KEEP_</h1><div class=thread>"
        + _many(
            "<div class=message><div class=user><a href=/u{n}>user{n}</a></div><div class=body>KEEP{n} I think, as"
            " others said, that boats are best, and I own {n}. Do you?</div><a href=#>Answer</a></div>"
        )
        + "</div></div>"
    ),
    "comments and nothing else": _page(
        "<div id=page><h1>KEEP_</h1><div class=comments>"
        + _many(f"<div class=comment><p>KEEP{{n}} {WORDS}</p></div>")
        + "</div></div>"
    ),
    "an article and many comments": _page(
        f"<article><h1>KEEP_</h1><p>{WORDS * 6}KEEP0</p></article><div id=comments><ol>"
        + _many(f"<li class=comment><p>NOISE {WORDS * 3}</p></li>", 20)
        + "</ol></div>"
    ),
    "questions and answers": _page(
        "<div id=content><div class=question><h1>KEEP_</h1><div class=post-text><p>How, in short, do I open a file?</p>"
        "</div></div><div id=answers>"
        + _many(
            "<div class=answer><p>KEEP{n} Use a with statement, as it closes the file.</p><pre>with open(x)</pre></div>"
        )
        + f"</div></div><div id=sidebar>{_RELATED}</div>"
    ),
    "a wiki": _page(
        f"""<div id=content><h1>KEEP0</h1><div id=bodyContent><table class=infobox><tr><th>Born<td>KEEP1 1900</table>
        <p>{WORDS}KEEP2 <a href=/a>harbour</a></p><h2>Life</h2><p>{WORDS * 2}</p><h2>References</h2>
        <ol><li>KEEP3 Smith, <a href=/x>The boat book</a>, 1999</li><li><a href=/y>KEEP4 A title</a></li></ol>
        </div></div>"""
    ),
    "a product": _page(
        f"""<div class=product><h1>KEEP0</h1><div class=gallery><img><img><img></div><div class=price>KEEP1 19.99</div>
        <div class=description><p>KEEP2 A sturdy boat, made of oak, for two. {WORDS}</p></div>
        <table class=specs><tr><td>Length<td>KEEP3 4 m<tr><td>Weight<td>KEEP4 90 kg</table>
        <form><select><option>NOISE</select></form></div><div class=recommendations>{_RELATED}</div>"""
    ),
    "Chinese": _page(
        "<div class=main><h1>KEEP0</h1><p>KEEP1 今天早上潮水慢慢地涨了起来\uff0c港口里的船开始从泥里浮起来。</p>"
        "<p>KEEP2 老人说他已经在这里住了七十年\uff0c从来没有见过这样的潮水。孩子们在沙滩上跑来跑去\uff0c拾起贝壳。</p>"
        f"<p>KEEP3 晚上灯塔亮了\uff0c照着海面。所有人都回家了。</p></div><div class=list><ul>{_STORIES}</ul></div>"
    ),
    "Japanese without commas": f"""<div><div>{_MENU}</div><div><div>KEEP0</div>
        <div>KEEP1 今朝は潮がゆっくり満ちてきて港の船が泥から浮かび始めた 漁師たちは埠頭に立って空を見上げていた</div>
        <div>KEEP2 老人はここに七十年住んでいるがこんな潮は見たことがないと言った 子供たちは貝殻を拾っていた</div>
        <div>KEEP3 夜になると灯台が灯り海面を照らした みんな家に帰り波の音だけが残った</div></div></div>""",
    "a table": _page(
        "<h1>KEEP_</h1><table>" + _many("<tr><td>KEEP{n}</td><td>port of call</td></tr>", 60) + "</table>"
    ),
    "tables as layout": f"""<table><tr><td>{_MENU}<td><h1>KEEP0</h1><p>{WORDS * 2}KEEP1<p>{WORDS * 3}KEEP2<br>{WORDS}
        <td>{_RELATED}</table>""",
    "a list of links": _page(
        "<div class=content><h1>KEEP_</h1><p>A list of good tools, sorted by name, for everyone.</p><ul>"
        + _many("<li><a href=/t{n}>KEEP{n}</a> a fine tool, written in C</li>", 30)
        + "</ul></div>"
    ),
    "a front page": _page(
        "<main>"
        + _many("<article><h2><a href=/{n}>KEEP{n}</a></h2><p>A teaser, with words.</p></article>", 12)
        + "</main>"
    ),
    "results of a search": _page(
        "<div id=results>"
        + _many("<div><h3><a href=/{n}>KEEP{n} title</a></h3><p>A snippet, with words.</p></div>")
        + "</div>"
    ),
    "a recipe": _page(
        f"<div class=recipe><h1>KEEP_</h1><p>{WORDS}</p><ul>{_many('<li>KEEP{n} 10 g flour</li>')}</ul></div>"
    ),
    "questions that unfold": _page(
        "<section><h1>KEEP_</h1>"
        + _many("<details><summary>KEEP{n}?</summary><p>The answer, in short, is yes.</p></details>", 12)
        + "</section>"
    ),
    "a change log": _page(
        f"<div><h1>KEEP_</h1>{_many('<h2>1.{n}</h2><ul><li>KEEP{n} Fixed a crash</li><li>More</li></ul>', 12)}</div>"
    ),
    "a title in a header": _page(
        "<div class=has-sidebar><div class=content-header><h1>KEEP0</h1></div><div class=main-content>"
        f"<p>{WORDS * 6}KEEP1</p></div></div>"
    ),
    "a short page with a main part": _page("<main><h1>KEEP0</h1><p>KEEP1 The museum is closed on Mondays.</p></main>"),
    "plain text": f"<pre>KEEP0 {WORDS * 20}KEEP1</pre>",
}


@pytest.mark.parametrize("kind", PAGES)
def test_the_content_of_every_kind_of_page_is_found(kind: str) -> None:
    tree = parse_html(PAGES[kind])
    remove_hidden(tree)
    found = main_content(tree)
    assert found is not None
    words = set(re.findall(r"\w+", found.text(separator=" ")))
    assert {word for word in re.findall(r"KEEP\w+", PAGES[kind]) if word not in words} == set()
    assert "NOISE" not in words
