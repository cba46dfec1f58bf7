"""The same rows as ORM objects: one SQLModel object for each entry, its payload decoded from JSON."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Column, Engine
from sqlmodel import Field, Session, SQLModel, create_engine, select


class Row(SQLModel, table=True):
    __tablename__ = "conversations_entries"  # pyright: ignore[reportAssignmentType]

    number: int = Field(primary_key=True)
    session: int
    seq: int
    id: str
    parent_id: str | None
    kind: str
    payload: dict[str, Any] = Field(sa_column=Column(JSON))
    created_at: str
    run_id: str | None
    principal: str
    extra: str | None


@lru_cache
def engine(path: Path) -> Engine:
    return create_engine(f"sqlite:///{path}")


def load(path: Path) -> list[Row]:
    with Session(engine(path)) as session:
        return list(session.exec(select(Row).order_by(Row.number)).all())  # pyright: ignore[reportArgumentType]
