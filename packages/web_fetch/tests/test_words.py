from __future__ import annotations

import pytest

from glados.web_fetch.words import hint


@pytest.mark.parametrize(
    "names",
    [
        ("sidebar", "", ""),
        ("", "comments", ""),
        ("ad", "", ""),
        ("Site-Header", "", ""),
        ("", "", "navigation"),
        ("cookie-bar", "", ""),
    ],
)
def test_names_of_what_is_beside_the_content(names: tuple[str, str, str]) -> None:
    assert hint(*names).is_beside


@pytest.mark.parametrize(
    "names",
    [
        ("", "", ""),
        ("shadow", "", ""),
        ("main-content with-sidebar", "", ""),
        ("gradient", "reading", ""),
        ("", "", "main"),
    ],
)
def test_names_of_content_and_of_nothing(names: tuple[str, str, str]) -> None:
    assert not hint(*names).is_beside


def test_classes_and_ids_weigh_for_and_against() -> None:
    assert hint("article", "", "").weight == 25
    assert hint("article", "main", "").weight == 50
    assert hint("widget", "promo", "").weight == -50
    assert hint("article widget", "", "").weight == 0


def test_an_id_that_is_a_heading_says_nothing() -> None:
    assert hint("", "share-a-comment-with-the-sidebar", "") == hint("", "", "")


def test_names_that_site_builders_give_to_every_part_say_nothing() -> None:
    assert hint("field field--label-hidden", "", "").weight == 0
    assert hint("elementor-widget", "", "").weight == 0
    assert hint("clear overflow-hidden", "", "").weight == 0
    assert hint("hidden", "", "").weight == -25


def test_footnotes_and_tools_in_other_words_are_not_spoken_against() -> None:
    assert hint("footnotes", "", "").weight == 0
    assert hint("", "toolchain", "").weight == 0
    assert hint("foot", "tools", "").weight == -50


def test_some_names_may_be_those_of_a_part_inside() -> None:
    assert hint("has-ads", "", "").is_doubtful
    assert not hint("comments", "", "").is_doubtful
    assert not hint("", "sidebar", "navigation").is_doubtful
    assert not hint("main", "sidebar", "").is_doubtful
