"""Examples are tested as they lie here; tests/test_install.py installs them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(source) for source in Path(__file__).parent.glob("*/src")]
