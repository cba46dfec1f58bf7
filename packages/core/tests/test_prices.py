"""What model calls cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from glados.core.messages import Usage
from glados.core.prices import PRICES, Price, cost, price_of
from glados.core.results import Spent

MILLION = 1_000_000


def test_input_cached_input_and_output_have_their_prices() -> None:
    usage = Usage(input_tokens=3 * MILLION, cached_tokens=2 * MILLION, output_tokens=MILLION, reasoning_tokens=MILLION)

    assert cost("gpt-5", usage) == pytest.approx(1.25 + 2 * 0.125 + 10)


def test_cached_tokens_without_a_price_cost_as_others_and_are_never_more_than_the_input() -> None:
    price = Price(input=2, output=1)

    assert price.of(Usage(MILLION, 0, cached_tokens=MILLION)) == 2
    assert Price(input=2, cached=1, output=1).of(Usage(MILLION, 0, cached_tokens=5 * MILLION)) == 1


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("openai/gpt-4.1", "gpt-4.1"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-5-latest", "gpt-5"),
    ],
)
def test_a_snapshot_costs_what_its_model_costs(model: str, named: str) -> None:
    assert price_of(model) is PRICES[named]


@pytest.mark.parametrize("model", ["", "gpt", "gpt-5-pro", "gpt-5.9", "gpt-50", "gpt-4o-audio", "o3-pro", "llama"])
def test_a_price_that_is_not_known_is_not_guessed(model: str) -> None:
    assert cost(model, Usage(1, 1)) is None


def test_settings_add_prices_and_win() -> None:
    table = {"mine": Price(input=1, output=3), "gpt-5": Price(input=0, output=0), "a/gpt-5": Price(input=9, output=9)}

    assert cost("mine", Usage(MILLION, MILLION), table) == 4
    assert cost("gpt-5-2025-08-07", Usage(MILLION, MILLION), table) == 0
    assert cost("a/gpt-5", Usage(MILLION, 0), table) == 9
    assert cost("gpt-5-mini", Usage(MILLION, 0), table) == 0.25


def test_a_call_whose_tokens_nobody_counted_has_no_known_cost() -> None:
    assert cost("gpt-5", None) is None


@given(st.lists(st.floats(0, 100) | st.none()))
def test_a_sum_with_an_unknown_part_is_unknown(costs: list[float | None]) -> None:
    known = [part for part in costs if part is not None]

    spent = Spent()
    for part in costs:
        spent = spent.plus(Usage(), part)

    assert spent.cost == (pytest.approx(sum(known)) if len(known) == len(costs) else None)


@pytest.mark.parametrize("price", [{"input": -1, "output": 1}, {"input": 1}, {"input": 1, "output": 1, "other": 1}])
def test_a_price_is_complete_and_never_negative(price: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Price.model_validate(price)
