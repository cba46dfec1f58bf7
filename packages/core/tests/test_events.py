from __future__ import annotations

import asyncio

import pytest

from glados.core import EventBus, ModelError, RunFinished, RunStarted, SlowSubscriber, StreamChunk
from glados.core.testing import next_of


def chunk(text: str, session: str = "s1") -> StreamChunk:
    return StreamChunk(session_id=session, run_id="r1", text=text)


async def test_a_subscriber_hears_events_in_the_order_in_which_they_were_published() -> None:
    bus = EventBus()
    with bus.subscribe() as events:
        for text in "abc":
            bus.publish(chunk(text))

        assert [(await next_of(events, StreamChunk)).text for _ in range(3)] == ["a", "b", "c"]


async def test_a_subscriber_of_one_session_hears_nothing_of_others() -> None:
    bus = EventBus()
    with bus.subscribe("s2") as events:
        bus.publish(chunk("other", "s1"))
        bus.publish(chunk("mine", "s2"))

        assert await events.next() == chunk("mine", "s2")


async def test_a_subscriber_of_all_sessions_hears_events_without_a_session_too() -> None:
    bus = EventBus()
    with bus.subscribe() as events:
        bus.publish(StreamChunk(text="nowhere"))

        assert (await next_of(events, StreamChunk)).session_id is None


async def test_a_reader_that_waits_is_woken_by_the_next_event() -> None:
    bus = EventBus()
    with bus.subscribe() as events:
        reading = asyncio.create_task(events.next())
        await asyncio.sleep(0)
        bus.publish(chunk("now"))

        assert await reading == chunk("now")


async def test_a_slow_subscriber_gets_what_waited_and_is_then_told_that_it_was_cut_off() -> None:
    bus = EventBus()
    with bus.subscribe(max_pending=2) as slow, bus.subscribe() as quick:
        for text in "abcd":
            bus.publish(chunk(text))

        assert [await slow.next(), await slow.next()] == [chunk("a"), chunk("b")]
        with pytest.raises(SlowSubscriber, match="More than 2 events"):
            await slow.next()
        assert [(await next_of(quick, StreamChunk)).text for _ in range(4)] == ["a", "b", "c", "d"]


async def test_a_subscriber_that_is_cut_off_while_an_event_is_published_takes_it_from_nobody_else() -> None:
    bus = EventBus()
    full = [bus.subscribe(max_pending=0) for _ in range(5)]
    with bus.subscribe() as last:
        bus.publish(chunk("a"))
        bus.publish(chunk("b"))

        assert [await last.next(), await last.next()] == [chunk("a"), chunk("b")]
        for subscription in full:
            with pytest.raises(SlowSubscriber):
                await subscription.next()


async def test_who_leaves_the_block_hears_no_more_and_its_iteration_ends() -> None:
    bus = EventBus()
    with bus.subscribe() as events:
        bus.publish(chunk("a"))
    bus.publish(chunk("b"))

    assert [event async for event in events] == [chunk("a")]


async def test_a_reader_that_waits_when_the_subscription_is_closed_stops() -> None:
    bus = EventBus()
    with bus.subscribe() as events:
        reading = asyncio.create_task(anext(events, None))
        await asyncio.sleep(0)

    assert await reading is None


def test_an_event_that_is_stored_has_a_seq_and_one_that_is_only_told_an_n() -> None:
    told = StreamChunk(session_id="s1", run_id="r1", n=3, text="Hi", thinking=True)
    stored = RunStarted(session_id="s1", run_id="r1", seq=7, model="gpt")

    assert told.to_dict() == {
        "type": "agent:stream_chunk",
        "session_id": "s1",
        "run_id": "r1",
        "n": 3,
        "payload": {"text": "Hi", "thinking": True},
    }
    assert stored.to_dict()["seq"] == 7
    assert "n" not in stored.to_dict()


def test_the_end_of_a_run_tells_its_error_as_json() -> None:
    event = RunFinished(result={"response": ""}, error=ModelError("Nobody answers.", status=503))

    assert event.payload() == {
        "response": "",
        "error": {"code": "model_failed", "message": "Nobody answers.", "data": {"status": 503}},
    }
