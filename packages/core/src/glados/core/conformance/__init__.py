"""What every store of sessions must do: a class of tests that a store's own tests inherit.

```python
class TestMyStore(SessionStoreConformance):
    @pytest.fixture
    async def store(self) -> MyStore: ...
```
"""

from __future__ import annotations

from glados.core.conformance.costs import CostTests
from glados.core.conformance.listing import ListingTests
from glados.core.conformance.logs import LogTests
from glados.core.conformance.payloads import PayloadTests
from glados.core.conformance.runs import RunTests
from glados.core.conformance.search import SearchTests
from glados.core.conformance.trees import TreeTests


class SessionStoreConformance(LogTests, PayloadTests, TreeTests, ListingTests, CostTests, SearchTests, RunTests):
    """Every line of the protocol's docstrings, over a fixture `store` that a subclass provides."""


__all__ = ["SessionStoreConformance"]
