"""Whether the server is there."""

from __future__ import annotations

from typing import Any

import httpx


async def test_health_needs_no_token(daemon: Any) -> None:
    async with httpx.AsyncClient(base_url=daemon.url, trust_env=False) as anybody:
        assert (await anybody.get("/healthz")).json() == {"status": "ok"}
        assert (await anybody.get("/readyz")).json() == {"status": "ready"}
