from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from glados.core import App, RunResult, Tool, ToolError, tool
from glados.core.models.offline import CONFIGURE, OfflineModel
from glados.core.testing import AppFactory, plugin_of


class NotAllowed(ToolError):
    code = "domain_not_allowed"


class Page(BaseModel):
    model_config = ConfigDict(extra="allow")

    content: str


calls: list[dict[str, Any]] = []


@tool("web-fetch.fetch", read_only=True)
async def fetch(url: str, mode: str = "none") -> Page:
    """Fetch a page."""
    calls.append({"url": url, "mode": mode})
    if "evil" in url:
        raise NotAllowed("evil.example is not allowed.", domain="evil.example")
    return Page(content=f"# Page of {url}")


@tool("web-fetch.add-domain")
async def add_domain(domain: str) -> dict[str, str]:
    """Allow a domain."""
    calls.append({"domain": domain})
    return {"domain": domain}


@tool("web-fetch.count", read_only=True)
def count(upto: int = 2) -> list[int]:
    """Count."""
    return list(range(upto))


async def say(glados_app: AppFactory, prompt: str, *tools: Tool) -> RunResult:
    calls.clear()
    chosen = tools or (fetch, add_domain, count)
    app = await glados_app(plugins=[plugin_of(*chosen)], model=OfflineModel())
    return await app.run(prompt, on_question=lambda _: "once")


@pytest.mark.parametrize(
    ("prompt", "url", "mode"),
    [
        ("fetch https://example.com as markdown", "https://example.com", "markdown"),
        ("fetch https://example.com", "https://example.com", "none"),
        ("fetch example.com", "https://example.com", "none"),
        ("fetch example.com.", "https://example.com", "none"),
        ("Please FETCH http://example.com/a?b=c#d as LINKS!", "http://example.com/a?b=c#d", "links"),
        ("  read example.com/a.b.html \n as  html ", "https://example.com/a.b.html", "html"),
        ("get localhost:8000", "https://localhost:8000", "none"),
        ("open https://пример.рф", "https://пример.рф", "none"),
        ('fetch https://example.com/"quoted"\\', 'https://example.com/"quoted"\\', "none"),
    ],
)
async def test_a_plain_request_to_fetch_is_understood(prompt: str, url: str, mode: str, glados_app: AppFactory) -> None:
    result = await say(glados_app, prompt)

    assert calls == [{"url": url, "mode": mode}]
    assert result.text == f"# Page of {url}"


@pytest.mark.parametrize(
    ("prompt", "domain"),
    [
        ("allow example.com", "example.com"),
        ("Please allow *.example.com !", "*.example.com"),
        ("allow example.com.", "example.com"),
    ],
)
async def test_allowing_a_domain_is_a_tool_call_like_any_other(
    prompt: str, domain: str, glados_app: AppFactory
) -> None:
    result = await say(glados_app, prompt)

    assert calls == [{"domain": domain}]
    assert result.text == f"{domain} can be fetched now."


async def test_a_refusal_says_the_line_that_helps_on(glados_app: AppFactory) -> None:
    result = await say(glados_app, "fetch evil.example")

    assert result.text == (
        "Error domain_not_allowed: evil.example is not allowed.\nTo allow it, say: allow evil.example"
    )


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("/call web-fetch.count", "[\n    0,\n    1\n  ]"),
        ('/call web-fetch.count {"upto": 1}', '"result": [\n    0\n  ]'),
        ('/call web-fetch.count\n{\n"upto":\n1}\n', '"result": [\n    0\n  ]'),
        ('/CALL web-fetch.count {"upto": 1}', '"result": [\n    0\n  ]'),
        ("/call web-fetch.count {upto: 1}", "Error invalid_input: The input of web-fetch.count is not JSON"),
        ("/call web-fetch.count 5", "Error invalid_input: The input of web-fetch.count does not fit"),
        ("/call web-fetch.cuont", "Error tool_not_found: There is no tool 'web-fetch.cuont': did you mean"),
        ("/CALL nothing {}", "Error tool_not_found: There is no tool 'nothing'"),
    ],
)
async def test_any_tool_can_be_called_with_json(prompt: str, told: str, glados_app: AppFactory) -> None:
    assert told in (await say(glados_app, prompt)).text


@pytest.mark.parametrize(
    "prompt",
    [
        "Hello",
        "\0",
        "/call",
        "get started",
        "read this",
        "open the door",
        "allow",
        "allow me",
        "fetch https://a.example https://b.example",
        "fetch https://a.example as pdf",
        "fetch https://a.example\nand then write about it",
        "x" * 100_000,
        "fetch " + "." * 100_000 + " x",
    ],
    ids=range(13),
)
async def test_any_other_text_is_answered_with_what_is_understood_and_how_to_get_a_model(
    prompt: str, glados_app: AppFactory
) -> None:
    result = await say(glados_app, prompt)

    assert calls == []
    assert "fetch https://example.com as markdown" in result.text
    assert "allow example.com" in result.text
    assert "Tools: web-fetch.add-domain, web-fetch.count, web-fetch.fetch." in result.text
    assert result.text.endswith(CONFIGURE)


@pytest.mark.parametrize("prompt", ["fetch https://example.com", "allow example.com"])
async def test_what_no_tool_can_do_is_not_offered(prompt: str, glados_app: AppFactory) -> None:
    result = await say(glados_app, prompt, count)

    assert "fetch" not in result.text.replace("web-fetch", "")
    assert "/call TOOL {JSON}" in result.text


async def test_without_any_tool_the_help_says_so(glados_app: AppFactory) -> None:
    app: App = await glados_app(model=OfflineModel())

    assert "Tools: none." in (await app.run("Hello")).text
    assert app.model_name == "offline"


async def test_a_result_that_is_no_json_is_shown_as_it_is(glados_app: AppFactory) -> None:
    @tool("web-fetch.poem", read_only=True, render=lambda _: "Roses are red")
    async def poem() -> int:
        """Write a poem."""
        return 1

    assert (await say(glados_app, "/call web-fetch.poem", poem)).text == "Roses are red"
