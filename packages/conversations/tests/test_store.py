from __future__ import annotations

from glados.core.testing import SessionStoreConformance


class TestSqlSessionStore(SessionStoreConformance):
    """With the fixture `store`, once for each database."""
