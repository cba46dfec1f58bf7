"""When a service wants to be asked again, from the headers of its refusal."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?", re.IGNORECASE)
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_LIMITS = ("-requests", "-tokens", "")
_FIRST_TIMESTAMP = 1e9  # a larger number is a point in time: in seconds, or from 1e11 on in milliseconds
_FIRST_MILLISECONDS = 1e11


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait; None if the service does not say."""
    if (milliseconds := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if (seconds := _seconds(headers.get("retry-after", ""))) is not None:
        return seconds
    return max(_resets(headers), default=None)


def _resets(headers: Mapping[str, str]) -> list[float]:
    """When each limit that is used up is reset; services send the resets of the others too."""
    exhausted = [limit for limit in _LIMITS if headers.get(f"x-ratelimit-remaining{limit}", "0").strip() == "0"]
    found = (_seconds(headers.get(f"x-ratelimit-reset{limit}", "")) for limit in exhausted)
    return [seconds for seconds in found if seconds is not None]


def _seconds(text: str) -> float | None:
    """Seconds from a number, a duration such as `6m0s`, a timestamp or a date."""
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        return _from_words(text)
    if not math.isfinite(number):
        return None
    if number >= _FIRST_TIMESTAMP:
        number = (number / 1000 if number >= _FIRST_MILLISECONDS else number) - time.time()
    return max(0.0, number)


def _from_words(text: str) -> float | None:
    match = _DURATION.fullmatch(text) if text else None
    try:
        if match is not None:
            return sum(float(amount) * unit for amount, unit in zip(match.groups(), _UNITS, strict=True) if amount)
        date = parsedate_tz(text)
        return max(0.0, mktime_tz(date) - time.time()) if date else None
    except (ValueError, OverflowError):  # `1..2s`, or a year that no calendar has
        return None
