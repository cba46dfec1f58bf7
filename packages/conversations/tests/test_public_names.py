from __future__ import annotations

import glados.conversations


def test_the_public_names_are_these() -> None:
    names = ["ConversationsSettings", "SqlArtifactStore", "SqlRuleStore", "SqlSessionStore"]
    assert glados.conversations.__all__ == names
    assert all(hasattr(glados.conversations, name) for name in names)
