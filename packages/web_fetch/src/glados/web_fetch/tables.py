"""The tables of the web fetch plugin."""

from __future__ import annotations

from sqlmodel import Field, SQLModel


class AllowedDomain(SQLModel, table=True):
    """One rule of the allowlist."""

    __tablename__ = "web_fetch_allowed_domains"  # pyright: ignore[reportAssignmentType]

    domain: str = Field(primary_key=True, max_length=255)
    created_at: str = Field(max_length=255)
