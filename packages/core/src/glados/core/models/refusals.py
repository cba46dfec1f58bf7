"""What a model's service does not take of what a request may ask for, learnt from its refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from glados.core.errors import ModelError
from glados.core.model import Thinking

# From what is wished to what may be left of it: not every model that thinks can be told not to.
_EFFORTS: Mapping[Thinking, tuple[str, ...]] = {
    "off": ("none", "minimal"),
    "low": ("low",),
    "medium": ("medium",),
    "high": ("high",),
}
_REFUSED = (400, 422)


def _sent_effort(options: Mapping[str, Any]) -> str | None:
    reasoning: Mapping[str, Any] = options.get("reasoning") or {}
    effort = options.get("reasoning_effort") or reasoning.get("effort")
    return f"effort {effort}" if effort else None


def _sent_summary(options: Mapping[str, Any]) -> str | None:
    reasoning: Mapping[str, Any] = options.get("reasoning") or {}
    return "summary" if "summary" in reasoning else None


def _sent(option: str) -> Callable[[Mapping[str, Any]], str | None]:
    return lambda options: option if option in options else None


# The words in a refusal, and what they are about if the request had it; the first that fits is left out from then on.
_COMPLAINTS: tuple[tuple[re.Pattern[str], Callable[[Mapping[str, Any]], str | None]], ...] = (
    (re.compile(r"max_completion_tokens"), _sent("max_tokens")),
    (re.compile(r"stream_options"), _sent("stream_options")),
    (re.compile(r"encrypted|\binclude\b", re.IGNORECASE), _sent("include")),
    (re.compile(r"summar", re.IGNORECASE), _sent_summary),
    (re.compile(r"reasoning|effort|thinking", re.IGNORECASE), _sent_effort),
)
# A thought that the service gave us once and does not take back: another account's, out of place, or not wanted at all.
_THOUGHTS = re.compile(
    r"invalid_encrypted_content|could not be (verified|decrypted)|reasoning_content|reasoning item"
    r"|'reasoning' was provided without"
)


class Refusals:
    """What one model is not asked for again."""

    def __init__(self, *refused: str) -> None:
        self._refused = set(refused)

    def takes(self, option: str) -> bool:
        """Whether an option may be sent."""
        return option not in self._refused

    def effort(self, thinking: Thinking | None) -> str | None:
        """The word for how much to think that the service has not refused."""
        wanted = _EFFORTS[thinking] if thinking is not None else ()
        return next((effort for effort in wanted if self.takes(f"effort {effort}")), None)

    def learn(self, error: ModelError, options: Mapping[str, Any]) -> bool:
        """Remember what a refusal is about; says whether the request is worth another try without it."""
        said = _said(error)
        for words, about in _COMPLAINTS if said else ():
            option = about(options) if words.search(said) else None
            if option is not None and self.takes(option):
                self._refused.add(option)
                return True
        return False


def refuses_thoughts(error: ModelError) -> bool:
    """Whether the service refused what it is said to have thought."""
    return bool(_THOUGHTS.search(_said(error)))


def _said(error: ModelError) -> str:
    """What the service complained about, if it is about the request's form."""
    if error.data.get("status") not in _REFUSED:
        return ""
    return f"{error.data.get('service_code')} {error.data.get('detail')}"
