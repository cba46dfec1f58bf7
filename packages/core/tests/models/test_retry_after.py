"""When a service wants to be asked again."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from glados.core.models.retry_after import retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1..2s"}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset": "12"}, 12.0),
        ({"x-ratelimit-reset": "12", "retry-after": "3"}, 3.0),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "9s"}, 9.0),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "9s",
                "x-ratelimit-remaining-tokens": "5",
            },
            1.0,
        ),
    ],
)
def test_every_way_to_say_when_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("form", ["date", "seconds", "milliseconds"])
def test_a_point_in_time_is_counted_from_now(form: str) -> None:
    then = time.time() + 60
    said = {"date": formatdate(then, usegmt=True), "seconds": f"{then:.0f}", "milliseconds": f"{then * 1000:.0f}"}
    found = retry_after({"retry-after" if form == "date" else "x-ratelimit-reset": said[form]})

    assert found == pytest.approx(60, abs=2)
