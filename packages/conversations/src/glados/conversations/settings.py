"""The settings of the session store, section `conversations`."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ConversationsSettings(BaseModel):
    """How far searches go."""

    search_candidates: int = Field(
        default=1_000, ge=1, le=100_000, description="Messages that a search looks at, the newest that may be meant."
    )
    search_step: int = Field(
        default=500, ge=1, le=10_000, description="Entries that are added to the search index in one transaction."
    )
    search_scan: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Newest entries in which words of less than three letters are looked for, which no index knows.",
    )
