"""What model calls cost, in US dollars; what is not known is never counted as free.

The built-in prices are list prices of well-known models, without anybody's discounts; MODEL_PRICES adds to them and
wins over them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from glados.core.messages import Usage

_MILLION = 1_000_000
# What may follow a name in the table: the date of a snapshot, or `latest`. A `-pro` or `-audio` is another model.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4}|\d{6}|\d{8}|latest)")


class Price(BaseModel):
    """What a model costs in US dollars per million tokens; cached tokens without a price cost as the others."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    input: float = Field(ge=0, description="Tokens of the request.")
    cached: float | None = Field(default=None, ge=0, description="Tokens of the request that the service had cached.")
    output: float = Field(ge=0, description="Tokens of the answer, those of its thinking included.")

    def of(self, usage: Usage) -> float:
        """What these tokens cost."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - cached
        return (fresh * self.input + cached * cached_price + usage.output_tokens * self.output) / _MILLION


def _price(input: float, cached: float | None, output: float) -> Price:
    return Price.model_construct(input=input, cached=cached, output=output)  # what we write needs no check


# Those of the standard tier, without surcharges for very long requests.
PRICES: Mapping[str, Price] = {
    "gpt-5.5": _price(5.00, 0.50, 30.00),
    "gpt-5.4": _price(2.50, 0.25, 15.00),
    "gpt-5.4-mini": _price(0.75, 0.075, 4.50),
    "gpt-5.4-nano": _price(0.20, 0.02, 1.25),
    "gpt-5.2": _price(1.75, 0.175, 14.00),
    "gpt-5.1": _price(1.25, 0.125, 10.00),
    "gpt-5": _price(1.25, 0.125, 10.00),
    "gpt-5-mini": _price(0.25, 0.025, 2.00),
    "gpt-5-nano": _price(0.05, 0.005, 0.40),
    "gpt-4.1": _price(2.00, 0.50, 8.00),
    "gpt-4.1-mini": _price(0.40, 0.10, 1.60),
    "gpt-4.1-nano": _price(0.10, 0.025, 0.40),
    "gpt-4o": _price(2.50, 1.25, 10.00),
    "gpt-4o-2024-05-13": _price(5.00, None, 15.00),
    "gpt-4o-mini": _price(0.15, 0.075, 0.60),
    "o3": _price(2.00, 0.50, 8.00),
    "o4-mini": _price(1.10, 0.275, 4.40),
    "offline": _price(0.0, None, 0.0),  # the built-in model
    "deepseek-chat": _price(0.28, 0.028, 0.42),
    "deepseek-reasoner": _price(0.28, 0.028, 0.42),
}


def price_of(model: str, prices: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model, by the longest name in the table of which it is a snapshot; None if it has none.

    A name behind the vendor's, as in `openai/gpt-5`, is looked for with it and then without it.
    """
    table = {**PRICES, **(prices or {})}
    for name in dict.fromkeys((model, model.rpartition("/")[2])):
        known = [key for key in table if name.startswith(key) and _is_of(name[len(key) :])]
        if known:
            return table[max(known, key=len)]
    return None


def cost(model: str, usage: Usage | None, prices: Mapping[str, Price] | None = None) -> float | None:
    """What one call cost; None where the price or the number of tokens is not known."""
    price = price_of(model, prices)
    return price.of(usage) if price is not None and usage is not None else None


def _is_of(rest: str) -> bool:
    return not rest or _SNAPSHOT.fullmatch(rest) is not None
