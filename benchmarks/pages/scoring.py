"""How much of a page's main content was found, and how much else.

Both texts are taken as bags of words: runs of letters, digits and underscores, in lower case, each as often as it
occurs. Precision is the part of the found words that were expected, recall the part of the expected words that were
found; F1 is their harmonic mean, and the score is the mean of all pages' F1. Where nothing is
expected and nothing is found, it is 1.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from selectolax.lexbor import LexborHTMLParser

from benchmarks.pages.corpus import Page

WORD = re.compile(r"\w+")


def words(text: str) -> Counter[str]:
    """The bag of words of a text."""
    return Counter(WORD.findall(text.lower()))


def f1(found: Counter[str], expected: Counter[str]) -> float:
    """The harmonic mean of precision and recall."""
    both = (found & expected).total()
    whole = found.total() + expected.total()
    return 2 * both / whole if whole else 1.0


def score(found: Iterable[str], pages: Sequence[Page]) -> float:
    """The mean F1 of what was found on each page."""
    return statistics.mean(f1(words(text), words(expected_text(page))) for text, page in zip(found, pages, strict=True))


def expected_text(page: Page) -> str:
    """The words of the expected content."""
    body = LexborHTMLParser(page.expected).body
    return body.text(separator=" ") if body is not None else ""
