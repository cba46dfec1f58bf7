"""Colours of CSS, as far as they keep text from being told from what is behind it."""

from __future__ import annotations

import re
from typing import Final

Colour = tuple[int, int, int]

WHITE: Final = (255, 255, 255)
# Channels that differ by less are the same to the eye.
ALIKE: Final = 16
_NAMES = {
    "white": WHITE,
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
    "floralwhite": (255, 250, 240),
    "mintcream": (245, 255, 250),
    "azure": (240, 255, 255),
    "aliceblue": (240, 248, 255),
    "whitesmoke": (245, 245, 245),
    "black": (0, 0, 0),
}
_HEX = re.compile("#([0-9a-f]{6}|[0-9a-f]{3})")
_DIGITS = re.compile("[0-9a-fA-F]{6}")
_CHANNEL = r"(\d{1,3}(?:\.\d+)?%?)"
_RGB = re.compile(rf"rgba?\(\s*{_CHANNEL}[\s,]+{_CHANNEL}[\s,]+{_CHANNEL}")
_LIGHTNESS = re.compile(r"hsla?\([^,\s]+[\s,]+[\d.]+%?[\s,]+(9[5-9](?:\.\d+)?|100)%")


def colour(value: str) -> Colour | None:
    """The colour that a value in lower case begins with; None for most names and all that must be computed."""
    if (found := _HEX.match(value)) is not None:
        digits = found[1] if len(found[1]) > 3 else "".join(2 * digit for digit in found[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if (found := _RGB.match(value)) is not None:
        red, green, blue = map(_channel, found.groups())
        return red, green, blue
    if _LIGHTNESS.match(value) is not None:
        return WHITE
    return _NAMES.get(value.split(maxsplit=1)[0]) if value else None


def attribute_colour(value: str) -> str:
    """The colour of an attribute as CSS writes it: in attributes the number sign may be missing."""
    value = value.strip()
    return f"#{value}" if _DIGITS.fullmatch(value) is not None else value


def are_alike(one: Colour, other: Colour) -> bool:
    """Whether nobody could read the one on the other."""
    return all(abs(a - b) < ALIKE for a, b in zip(one, other, strict=True))


def _channel(value: str) -> int:
    number = float(value.removesuffix("%"))
    return min(255, round(number * 2.55 if value.endswith("%") else number))
