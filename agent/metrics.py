"""Owns sending one cycle's gauges to StatsD: what, in which dialect, and saying when it fails."""

from __future__ import annotations

from typing import List, Mapping, Optional

from agent.core import statsd
from agent.core.address import parse_address
from agent.core.gauges import Snapshot, gauges
from agent.core.settings import StatsdSettings
from agent.datagrams import LookUp, Outlet
from agent.resolve import resolve

HEARTBEAT = "heartbeat"


class Metrics:
    """The gauges of one host. Making one neither waits nor fails; nothing here ever blocks."""

    def __init__(
        self,
        settings: StatsdSettings,
        host: str,
        tags: Mapping[str, str] = {},
        look_up: LookUp = resolve,
    ) -> None:
        """``settings`` are valid; ``host`` is this host's name as it is; see ``core.statsd``.

        ``tags`` are those of the whole configuration; the settings' own come on top.
        """
        settings = settings._replace(tags={**tags, **settings.tags})
        address = parse_address(settings.address)
        self._where = f"StatsD at {settings.address}"
        self._naming = statsd.naming(settings, address, host)
        self._outlet = Outlet(address, look_up)
        self._trouble = ""
        self._remarks: List[str] = [f"{self._where}: {r}" for r in self._naming.remarks]

    def send(self, snapshot: Snapshot) -> Optional[str]:
        """Send the gauges and one heartbeat; return a line to log when something has changed."""
        from agent.statsd_lines import Lines  # the statsd package: only once it is needed

        lines = Lines(self._naming)
        for gauge in gauges(snapshot):
            lines.add_gauge(gauge)
        lines.add_count(HEARTBEAT)
        said = self._remarks + self._change(self._outlet.send(statsd.packed(lines.blocks)))
        self._remarks = []
        return "; ".join(said) or None

    def close(self) -> None:
        """Give up the socket, for a reload."""
        self._outlet.close()

    def _change(self, trouble: str) -> List[str]:
        before, self._trouble = self._trouble, trouble
        if trouble == before:
            return []
        if trouble:
            return [f"{self._where}: {trouble}; gauges are lost until it takes them"]
        return [f"{self._where} takes gauges again"]
