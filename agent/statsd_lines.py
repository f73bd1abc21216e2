"""Owns the lines of one cycle, written by the ``statsd`` package without its own transport.

The package knows that a negative gauge needs a zero before it; here the two come out as one block.
Imported on first use: only the daemon sends gauges.
"""

from __future__ import annotations

from typing import List

from statsd.client.base import PipelineBase, StatsClientBase  # type: ignore[import-untyped]

from agent.core.gauges import Gauge
from agent.core.statsd import Naming, fixed, full_name


class Lines(StatsClientBase):  # type: ignore[misc]  # the package has no types
    """Collects lines as blocks that a datagram must hold whole."""

    def __init__(self, naming: Naming) -> None:
        self._prefix = naming.prefix
        self._naming = naming
        self.blocks: List[str] = []

    def add_gauge(self, gauge: Gauge) -> None:
        """Write one gauge; one that is not a finite number is left out."""
        value = fixed(gauge.value)
        if value is None:
            return
        name, last = self._tagged(full_name(gauge.name))
        if self._naming.dialect.sign_is_change:
            self.gauge(name, value)
        else:
            self._send_stat(name, f"{value}|g{last}", 1)

    def add_count(self, name: str) -> None:
        """Count one more of ``name``."""
        name, last = self._tagged(name)
        self._send_stat(name, f"1|c{last}", 1)

    def pipeline(self) -> _Pair:
        """What the package writes zero and value of a negative gauge into."""
        return _Pair(self)

    def _tagged(self, name: str) -> tuple[str, str]:
        """The name with its tags, and what goes behind the value instead."""
        tags = self._naming.tags
        return (name, tags) if self._naming.dialect.tags_last else (name + tags, "")

    def _send(self, data: str) -> None:
        self.blocks.append(data)


class _Pair(PipelineBase):  # type: ignore[misc]
    """Hands its lines over as one block."""

    def _send(self) -> None:
        self._client._send("\n".join(self._stats))
