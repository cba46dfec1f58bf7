"""Searching prompts and answers."""

from __future__ import annotations

from glados.core.conformance.trees import say
from glados.core.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from glados.core.sessions import Draft, Found, SessionStore

ODD = (
    '"',
    "'",
    "a OR b",
    "NEAR(a b)",
    "text:cake",
    "cake*",
    "*",
    "(",
    "-cake",
    "^cake",
    "\0",
    "%",
    "_",
    "\\",
    "{a}",
    "?",
)


async def texts(store: SessionStore, *answers: str) -> str:
    """A session with these messages."""
    session = await store.create(title="Kitchen")
    await say(store, session.id, *answers)
    return session.id


class SearchTests:
    """What a search finds."""

    async def test_a_search_finds_messages_with_all_words(self, store: SessionStore) -> None:
        session_id = await texts(store, "Bake a chocolate cake", "A cake without it", "chocolate alone")
        [found] = await store.search("CAKE chocolate")
        [entry, *_] = await store.entries(session_id)
        assert found == Found(session_id, "Kitchen", entry.id, 1, "user", "Bake a chocolate cake", entry.created_at)
        assert [found.seq for found in await store.search("cake")] == [2, 1]
        assert await store.search("cake bread") == []

    async def test_an_empty_search_finds_nothing(self, store: SessionStore) -> None:
        await texts(store, "cake")
        assert [await store.search(text) for text in ("", "  \n")] == [[], []]

    async def test_only_prompts_and_answers_are_searched(self, store: SessionStore) -> None:
        session = await store.create(title="secret")
        answer = Message(
            "assistant", (ThinkingPart("secret"), TextPart("open"), ToolCallPart("c", "t.t", '{"a": "secret"}'))
        )
        result = Message("tool", (ToolResultPart("c", "t.t", "secret"),))
        await store.append(session.id, [Draft("message", answer), Draft("message", result)])
        await store.append(session.id, [Draft("custom", {"text": "secret"})])
        assert await store.search("secret") == []
        assert [found.role for found in await store.search("open")] == ["assistant"]

    async def test_a_search_can_be_of_one_session(self, store: SessionStore) -> None:
        await texts(store, "cake")
        session_id = await texts(store, "cake", "cake")
        assert [found.seq for found in await store.search("cake", session_id=session_id)] == [2, 1]
        assert len(await store.search("cake")) == 3
        assert len(await store.search("cake", limit=2)) == 2
        assert await store.search("cake", limit=0) == []

    async def test_whole_words_come_before_parts_of_words_and_new_before_old(self, store: SessionStore) -> None:
        session_id = await texts(store, "a cake", "cupcakes", "cake again", "cakes")
        assert [found.seq for found in await store.search("cake", session_id=session_id)] == [3, 1, 4, 2]

    async def test_words_are_found_in_every_script(self, store: SessionStore) -> None:
        await texts(store, "東京は日本の首都です", "Größe ÄPFEL", "Привет, мир", "عاصمة اليابان", "🍰 pie", "go to it")
        for text, seq in (
            ("東京", 1),
            ("日本", 1),
            ("首都です", 1),
            ("都", 1),
            ("äpfel", 2),
            ("GRÖßE", 2),
            ("привет", 3),
            ("اليابان", 4),
            ("🍰", 5),
            ("pi 🍰", 5),
            ("go it", 6),
        ):
            assert [found.seq for found in await store.search(text)] == [seq], text

    async def test_whatever_is_typed_is_taken_as_text(self, store: SessionStore) -> None:
        await texts(store, *(f"x {odd} y" for odd in ODD), "a\0bcd")
        for seq, odd in enumerate(ODD, 1):
            assert seq in [found.seq for found in await store.search(odd)], odd
            assert seq in [found.seq for found in await store.search(f"{odd} x")], odd
        assert [found.seq for found in await store.search("a\0bcd")] == [len(ODD) + 1]
        assert await store.search('cake" OR "x') == []
        assert await store.search("\ud800") == []
        assert await store.search("x" * 10_000) == []

    async def test_a_snippet_shows_what_is_around_the_first_word(self, store: SessionStore) -> None:
        await texts(store, f"{'before ' * 100}the needle\n\n  and {'after ' * 100}")
        [found] = await store.search("needle")
        assert "the needle and after" in found.snippet
        assert len(found.snippet) <= 120

    async def test_what_is_appended_is_found_and_what_is_deleted_is_not(self, store: SessionStore) -> None:
        session_id = await texts(store, "one cake")
        assert len(await store.search("cake")) == 1
        await say(store, session_id, "two cakes")
        fork = await store.fork(session_id)
        assert len(await store.search("cake")) == 4
        await store.delete(session_id)
        assert {found.session_id for found in await store.search("cake")} == {fork.id}
        await store.delete(fork.id)
        assert await store.search("cake") == []
        again = await store.create()
        await say(store, again.id, "bread")
        assert (await store.search("cake"), len(await store.search("bread"))) == ([], 1)

    async def test_every_branch_is_searched(self, store: SessionStore) -> None:
        session_id = await texts(store, "cake")
        await store.switch(session_id, None)
        await say(store, session_id, "bread")
        assert [found.seq for found in await store.search("cake")] == [1]

    async def test_words_of_a_long_text_are_found(self, store: SessionStore) -> None:
        await texts(store, f"{'lorem ipsum ' * 2000} needle")
        assert len(await store.search("needle lorem")) == 1
