from __future__ import annotations

import pytest

from glados.core.cutting import boundary, shortened


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("short", 5, "short"),
        ("short", 99, "short"),
        ("x" * 20, 10, "x" * 10),
        ("one two three four", 10, "one two "),
        ("one two\nthree four", 10, "one two\n"),
        ("a b c d e\nf g h i j", 12, "a b c d e\n"),
        ("line\n" + "x" * 20, 15, "line\n" + "x" * 10),
        ("", 4, ""),
    ],
    ids=range(8),
)
def test_a_cut_falls_behind_a_line_or_a_word_if_one_ends_near_the_limit(text: str, limit: int, shown: str) -> None:
    assert text[: boundary(text, 0, limit)] == shown


def test_pieces_put_together_are_the_whole_again() -> None:
    text = "".join(f"line {number} of some text\n" for number in range(200)) + "x" * 500
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = boundary(text, start, 64)
        assert 0 < end - start <= 64
        pieces.append(text[start:end])
        start = end

    assert "".join(pieces) == text


def test_what_is_shortened_says_how_much_is_left_out() -> None:
    assert shortened("one two three", 99) == "one two three"
    assert shortened("one two three", 9) == "one two\n[… 5 characters are left out]"
