"""What every plugin that reaches the network has to know about this process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForbiddenAddress:
    """An address and port that no tool may connect to, whatever else is allowed.

    Whoever listens adds its own with `services.add(ForbiddenAddress, …)`; whoever connects obeys
    `services.all(ForbiddenAddress)`.
    """

    host: str
    port: int
