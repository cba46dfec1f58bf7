from __future__ import annotations

import pytest

from glados.core import MemorySessionStore
from glados.core.testing import SessionStoreConformance


class TestMemorySessionStore(SessionStoreConformance):
    @pytest.fixture
    def store(self) -> MemorySessionStore:
        return MemorySessionStore()
