"""Titles of sessions: the first words of the first prompt, or what the small model makes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from glados.core.bus import EventBus
from glados.core.errors import SessionNotFound
from glados.core.events import SessionUpdated
from glados.core.foreign import failure
from glados.core.messages import user_message, well_formed
from glados.core.model import Model, ModelDone, ModelRequest, TextDelta
from glados.core.prices import Price, cost
from glados.core.sessions import Charge, Draft, SessionStore

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
    return " ".join(well_formed(prompt).replace("\0", " ").split())[:TITLE_LENGTH] or None


@dataclass(frozen=True, slots=True)
class MadeTitle:
    """What a model calls a conversation, None if it has no good answer; and the end of its answer, if it came."""

    text: str | None
    done: ModelDone | None = None


async def made_title(model: Model, prompt: str) -> MadeTitle:
    """Let a model name a conversation with that prompt."""
    request = ModelRequest(INSTRUCTIONS, [user_message(prompt[:MAX_PROMPT_CHARS])], (), max_output_tokens=MAX_TOKENS)
    text: list[str] = []
    done: ModelDone | None = None
    try:
        async with asyncio.timeout(TIMEOUT):
            async for delta in model.stream(request):
                if isinstance(delta, TextDelta):
                    text.append(delta.text)
                elif isinstance(delta, ModelDone):
                    done = delta
    except (Exception, SystemExit) as error:
        log.warning("no title was made: %s", failure(f"The model {model.name!r}", error).message)
        return MadeTitle(None, done)
    return MadeTitle(plain_title("".join(text).strip().strip("\"'“”„«»").strip()), done)


class Naming:
    """Names new sessions, beside their runs; what that costs is theirs."""

    def __init__(self, store: SessionStore, bus: EventBus, prices: Mapping[str, Price]) -> None:
        self._store = store
        self._bus = bus
        self._prices = prices
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, model: Model, session_id: str, prompt: str) -> None:
        """Let a model give a session its title, whenever it is ready."""
        task = asyncio.create_task(self._name(model, session_id, prompt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Give up what is not ready."""
        for task in self._tasks:
            task.cancel()

    async def _name(self, model: Model, session_id: str, prompt: str) -> None:
        made = await made_title(model, prompt)
        with suppress(SessionNotFound):
            if made.done is not None:
                name, usage = made.done.model, made.done.usage
                charge = Charge(name, usage, cost(name, usage, self._prices))
                await self._store.append(session_id, [Draft("custom", {"title": made.text}, charges=(charge,))])
            if made.text is not None:
                session = await self._store.rename(session_id, made.text)
                self._bus.publish(SessionUpdated(session_id=session_id, session=session.to_dict()))
