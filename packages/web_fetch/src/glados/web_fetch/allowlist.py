"""The allowlist in its table."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import text
from sqlmodel import col, delete, select
from sqlmodel.ext.asyncio.session import AsyncSession

from glados.database import Connection, DatabaseService
from glados.web_fetch.tables import AllowedDomain

# Both databases understand this, and of two who add the same rule at once only one adds it.
_ADD = text(
    "INSERT INTO web_fetch_allowed_domains (domain, created_at) VALUES (:domain, :created_at) ON CONFLICT DO NOTHING"
)


class Allowlist:
    """The rules that say which hosts may be fetched from."""

    def __init__(self, database: DatabaseService) -> None:
        self._database = database

    async def has_any(self, rules: tuple[str, ...]) -> bool:
        """Whether at least one of the rules is on the list; asked at every hop, so it costs no session."""
        places = ", ".join("?" * len(rules))

        def read(connection: Connection) -> bool:
            query = f"SELECT 1 FROM web_fetch_allowed_domains WHERE domain IN ({places}) LIMIT 1"  # noqa: S608 only "?"
            return connection.execute(query, rules).fetchone() is not None

        return await self._database.query(read)

    async def add(self, rule: str) -> bool:
        """Put a rule on the list; False if it was there."""

        async def change(session: AsyncSession) -> bool:
            values = {"domain": rule, "created_at": datetime.now(UTC).isoformat(timespec="seconds")}
            return (await (await session.connection()).execute(_ADD, values)).rowcount == 1

        return await self._database.write(change)

    async def remove(self, rule: str) -> bool:
        """Take a rule off the list; False if it was not there."""

        async def change(session: AsyncSession) -> bool:
            statement = delete(AllowedDomain).where(col(AllowedDomain.domain) == rule)
            return (await (await session.connection()).execute(statement)).rowcount == 1

        return await self._database.write(change)

    async def rules(self) -> list[str]:
        """Every rule, in alphabetical order."""
        async with self._database.read() as session:
            return sorted(await session.exec(select(AllowedDomain.domain)))
