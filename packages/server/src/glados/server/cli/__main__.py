"""`python -m glados.server.cli` is `glados`."""

from __future__ import annotations

import sys

from glados.server.cli.root import main

sys.exit(main())
