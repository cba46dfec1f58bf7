"""What the plugin does, apart from tools and settings."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from uuid import uuid4

from glados.database import DatabaseService
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from glados_dice.tables import DiceRoll


class DiceService:
    """Rolls dice and remembers what came up."""

    def __init__(self, database: DatabaseService, sides: int, random: Random | None = None) -> None:
        self._database = database
        self._sides = sides
        self._random = random or Random()

    async def roll(self, count: int) -> list[int]:
        """Roll some dice and write the results down, all of them or none."""
        results = [self._random.randint(1, self._sides) for _ in range(count)]
        roll_id, now = uuid4().hex, datetime.now(UTC).isoformat()

        async def remember(session: AsyncSession) -> None:
            for position, result in enumerate(results):
                row = DiceRoll(roll_id=roll_id, position=position, sides=self._sides, result=result, rolled_at=now)
                session.add(row)

        await self._database.write(remember)
        return results

    async def history(self, limit: int) -> list[DiceRoll]:
        """The latest results, the newest roll first."""
        newest = select(DiceRoll).order_by(col(DiceRoll.rolled_at).desc(), DiceRoll.roll_id, col(DiceRoll.position))
        async with self._database.read() as session:
            return list(await session.exec(newest.limit(limit)))
