"""The rule book of the conversion: markdownify's rules, and what GitHub's Markdown can say beyond them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from markdownify import ATX, MarkdownConverter

# How highlighters write the language of a block into the class of its <pre> or <code>.
LANGUAGE_PREFIXES = ("language-", "lang-", "highlight-source-")
# A longer word is no language, and what is no word could end the line that it stands in.
MAX_LANGUAGE = 30
LANGUAGE_CHARACTERS = frozenset("+-_.#")

# Methods of markdownify's converter that are named like the rule of a tag, but are none.
NO_TAGS = frozenset({"soup", "fn_cache", "list"})


class Element(Protocol):
    """What the rules below need of an element: a tag of Beautiful Soup, or one that stands for a node of Lexbor."""

    @property
    def next_sibling(self) -> Any:
        """The node behind it; a text is a `str`."""
        ...

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an attribute."""
        ...

    def find(self, name: str) -> Any:
        """The first element of that name inside."""
        ...


class GfmConverter(MarkdownConverter):
    """ATX headings; strikethrough, the state of tasks and the language of code stay; all else is markdownify's own."""

    class Options:
        """What differs from markdownify's defaults."""

        heading_style = ATX

    def get_conv_fn(self, tag_name: str) -> Callable[..., str] | None:
        """The rule of a tag; none for a name that only sounds like one."""
        if tag_name.lower().replace("-", "_").replace(":", "_") in NO_TAGS:
            return None
        book: Any = super()
        try:
            return book.get_conv_fn(tag_name)
        except ValueError:  # a heading whose number has thousands of digits
            return None

    def convert_strike(self, el: Element, text: str, parent_tags: Collection[str]) -> str:
        """The old name of `<s>`."""
        book: Any = self
        return book.convert_del(el, text, parent_tags)

    def convert_input(self, el: Element, text: str, parent_tags: Collection[str]) -> str:
        """A checkbox in a list item is the state of a task; other fields say nothing."""
        if str(el.get("type")).lower() != "checkbox" or "li" not in parent_tags:
            return text
        following = el.next_sibling
        gap = "" if isinstance(following, str) and following.startswith(" ") else " "
        return ("[ ]" if el.get("checked") is None else "[x]") + gap + text

    def convert_pre(self, el: Element, text: str, parent_tags: Collection[str]) -> str:
        """A fenced block, with its language where the page says it."""
        if not text:
            return ""
        language = language_of(el) or language_of(el.find("code"))
        return f"\n\n```{language}\n{_without_outer_lines(text)}\n```\n\n"


def language_of(el: Element | None) -> str:
    """The language that an element's class names."""
    classes = el.get("class") if el is not None else None
    for name in classes.split() if isinstance(classes, str) else classes or ():
        for prefix in LANGUAGE_PREFIXES:
            if name.startswith(prefix) and _is_language(language := name[len(prefix) :]):
                return language
    return ""


def _is_language(word: str) -> bool:
    return 0 < len(word) <= MAX_LANGUAGE and all(
        letter.isascii() and (letter.isalnum() or letter in LANGUAGE_CHARACTERS) for letter in word
    )


def _without_outer_lines(text: str) -> str:
    """A block without empty lines around it, as markdownify strips it, whose own way is quadratic in the spaces."""
    indent = len(text) - len(text.lstrip(" \n"))
    return text[text.rfind("\n", 0, indent) + 1 :].rstrip(" \n")
