"""The settings of the database: section `[database]`, environment variables `DATABASE_…`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

from glados.database.urls import DatabaseUrl, parse_url, sqlite_url

DEFAULT_FILE = "glados.sqlite3"


class DatabaseSettings(BaseModel):
    """Where the database is and how patient its users are."""

    url: SecretStr | None = Field(
        default=None,
        description="sqlite:///relative/path, sqlite:////absolute/path or postgresql://user:password@host/name; "
        "by default the file glados.sqlite3 in the data directory.",
    )
    migrate: Literal["auto", "check"] = Field(
        default="auto",
        description="auto applies plugins' migrations at start; check applies none and fails a plugin that has some.",
    )
    pool_size: int = Field(
        default=5,
        ge=1,
        le=100,
        description="Connections kept open for writing and, on SQLite, as many for reading; as many again for queries.",
    )
    pool_timeout: float = Field(
        default=60.0, gt=0, description="Seconds to wait for a free connection before giving up."
    )
    busy_timeout: float = Field(
        default=30.0, gt=0, description="Seconds to wait for a lock that another process or transaction holds."
    )
    connect_timeout: int = Field(default=5, ge=2, description="Seconds to wait for PostgreSQL to accept a connection.")
    write_timeout: float = Field(
        default=60.0, gt=0, description="Seconds for which a write that lost a race is tried again."
    )
    commit_batch: int = Field(
        default=256, ge=1, le=10_000, description="Changes that are committed together in one transaction at most."
    )
    commit_queue: int = Field(
        default=10_000,
        ge=1,
        description="Changes, and likewise queries, that may wait in line; a caller waits for a place in it.",
    )
    migrate_timeout: float = Field(
        default=300.0, ge=0, description="Seconds to wait while another process applies migrations."
    )

    @field_validator("url")
    @classmethod
    def _is_allowed(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value().strip():
            return None
        parse_url(value.get_secret_value())
        return value

    def location(self, data_dir: Path) -> DatabaseUrl:
        """Where the database is, for a data directory that holds it unless `url` says otherwise."""
        return parse_url(self.url.get_secret_value()) if self.url else sqlite_url(data_dir / DEFAULT_FILE)
