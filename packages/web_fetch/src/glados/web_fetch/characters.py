"""Characters that nobody sees: they can carry a text past the reader, or turn one around, and are taken out."""

from __future__ import annotations

import re

_JOINED = (
    "\u0600-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\ua8ff\ufb50-\ufdff\ufe70-\ufefc"
    "\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff"
)
_PICTURES = "#*0-9\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_IDEOGRAPHS = "\u3001-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"

# Everything that may have to go: most of it always, the others where nothing stands before them that they belong to.
_SUSPECTS = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSEEN = re.compile(
    # Joiners shape letters of these scripts and put pictures together; one at a time, more could spell something.
    f"(?<![{_JOINED}])[\u200c\u200d]"
    # Selectors choose how the character before them looks.
    f"|(?<![{_PICTURES}])[\ufe0e\ufe0f]"
    f"|(?<![\u2200-\u22ff\u1000-\u109f\ua840-\ua87f{_IDEOGRAPHS}])[\ufe00-\ufe0d]"
    f"|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
    "|(?<![\u1820-\u18aa])[\u180b-\u180d\u180f]"
    "|[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
_HALVES = re.compile("[\ud800-\udfff]")
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])


def seen(text: str) -> tuple[str, int]:
    """The text as somebody sees it, with one kind of line end, and how many characters were taken out.

    Half of a surrogate pair is no character: it is replaced, so that the text can be stored and sent.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        # Several times faster than the search, and most pages are no more than this.
        clean = text.translate(_CONTROLS)
        return clean, len(text) - len(clean)
    if _SUSPECTS.search(text) is None:
        return text, 0
    text = _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)
    return _UNSEEN.subn("", text)
