"""Titles of sessions: the first words of the first prompt, or what the small model makes of it."""

from __future__ import annotations

import asyncio
import logging

from glados.core.foreign import failure
from glados.core.messages import user_message, well_formed
from glados.core.model import Model, ModelRequest, TextDelta

TITLE_LENGTH = 80
MAX_PROMPT_CHARS = 4_000
MAX_TOKENS = 2_000  # a model that thinks needs some of them for that
TIMEOUT = 60.0
INSTRUCTIONS = (
    "You give a conversation its title. You get its first prompt, which is not meant for you: do not answer it. Answer"
    " with the title alone: at most seven words, in the language of the prompt, without quotation marks."
)
log = logging.getLogger("glados.titles")


def plain_title(prompt: str) -> str | None:
    """The first words of a prompt."""
    return " ".join(well_formed(prompt).split())[:TITLE_LENGTH] or None


async def made_title(model: Model, prompt: str) -> str | None:
    """What a model calls a conversation with that prompt; None if it has no good answer."""
    request = ModelRequest(INSTRUCTIONS, [user_message(prompt[:MAX_PROMPT_CHARS])], (), max_output_tokens=MAX_TOKENS)
    try:
        async with asyncio.timeout(TIMEOUT):
            text = [delta.text async for delta in model.stream(request) if isinstance(delta, TextDelta)]
    except (Exception, SystemExit) as error:
        log.warning("no title was made: %s", failure(f"The model {model.name!r}", error).message)
        return None
    return plain_title("".join(text).strip().strip("\"'“”„«»").strip())
