"""Owns what is measured inside the container of ``bench.peers``; only the standard library.

Prints one JSON document: for each program how long it took and how it ended, while all is well and
while chronyd hangs, and what each watcher costs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, Mapping, Sequence

sys.path.insert(0, os.path.dirname(__file__))
import measure  # type: ignore[import-not-found]  # noqa: E402  # beside this file

PLUGINS = "/usr/lib/nagios/plugins"
PROGRAMS: Mapping[str, List[str]] = {
    "python3 -IS -c pass": ["/usr/bin/python3", "-IS", "-c", "pass"],
    "clock-agent check": ["/usr/bin/clock-agent", "check"],
    "clock-agent check --live": ["/usr/bin/clock-agent", "check", "--live"],
    "check_ntp_time": [f"{PLUGINS}/check_ntp_time", "-H", "127.0.0.1"],
    "check_chrony": [f"{PLUGINS}/check_chrony"],
    "node_exporter, one scrape": ["/usr/bin/curl", "-fsS", "http://127.0.0.1:9100/metrics"],
}
REDIS = "redis://127.0.0.1:6379"
CONFIG = "/etc/clock-agent/live.yaml"
#: Like the one in the package: comments alone. PyYAML is loaded only for more than that.
EMPTY = "/etc/clock-agent/empty.yaml"
#: A live check, and what an administrator would run by hand instead, one after the other.
LIVE: Mapping[str, List[str]] = {
    "chronyc": ["/usr/bin/chronyc", "-c", "-n", "tracking"],
    "systemctl show": ["/usr/bin/systemctl", "show", "chrony.service", "chronyd.service"],
    "redis-cli TIME": ["/usr/bin/redis-cli", "-u", REDIS, "TIME"],
    "python3 -IS -c pass": PROGRAMS["python3 -IS -c pass"],
    "check --redis": ["/usr/bin/clock-agent", "--config", EMPTY, "check", "--redis", REDIS],
    "check --live, configured": ["/usr/bin/clock-agent", "--config", CONFIG, "check", "--live"],
}
SETTINGS = f"""
interval: 1m
references:
  - name: locks
    url: {REDIS}
    timeout: 1s
alerts:
  - type: log
  - type: webhook
    url: https://hooks.internal/clock
protects:
  - name: payout-lock
    margin: 20m
statsd:
  tags: {{role: db, site: fra1}}
"""
#: Watchers: what each is started with. clock-agent is a service already.
WATCHERS: Mapping[str, List[str]] = {
    "node_exporter": [
        "/usr/bin/prometheus-node-exporter",
        "--collector.disable-defaults",
        "--collector.ntp",
        "--collector.timex",
        "--web.listen-address=127.0.0.1:9100",
    ],
    "collectd": ["/usr/sbin/collectd", "-f", "-C", "/etc/collectd-bench.conf"],
}
COLLECTD = """
Interval 1
FQDNLookup false
BaseDir "/tmp"
LoadPlugin chrony
LoadPlugin csv
<Plugin chrony>
  Host "127.0.0.1"
</Plugin>
<Plugin csv>
  DataDir "/tmp/collectd"
</Plugin>
"""
#: Both watchers and the agent take a reading a second for that long.
SECONDS = 60


def main() -> None:
    """Measure everything."""
    rounds = int(sys.argv[1])
    Path("/etc/collectd-bench.conf").write_text(COLLECTD)
    Path(CONFIG).write_text(SETTINGS)
    Path(EMPTY).write_text("# nothing\n")
    live = _answers(LIVE, rounds)
    started = {name: _start(argv) for name, argv in WATCHERS.items()}
    pids = {name: process.pid for name, process in started.items()}
    pids["clock-agent"] = _main_pid("clock-agent")
    time.sleep(3)
    result = {
        "healthy": _answers(PROGRAMS, rounds),
        "live": live,
        "watching": _watch(pids),
    }
    chronyd = _main_pid("chrony")
    os.kill(chronyd, signal.SIGSTOP)
    time.sleep(8)  # for the verdict to be published
    result["hung"] = _answers(PROGRAMS, 1)
    os.kill(chronyd, signal.SIGCONT)
    for process in started.values():
        process.terminate()
    print(json.dumps(result))


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=nowhere, stdout=nowhere, stderr=nowhere)


def _answers(programs: Mapping[str, List[str]], rounds: int) -> Dict[str, List[float]]:
    taken = measure.in_turns(programs, rounds)
    return {name: [each.median, each.status, each.shortest] for name, each in taken.items()}


def _watch(pids: Mapping[str, int]) -> Dict[str, List[float]]:
    """Processor seconds per reading, programs it ran included, and memory."""
    before = {name: measure.cpu_seconds(pid, children=True) for name, pid in pids.items()}
    for _ in range(SECONDS):  # node_exporter only reads when it is asked
        _start(PROGRAMS["node_exporter, one scrape"]).wait()
        time.sleep(1)
    return {
        name: [
            (measure.cpu_seconds(pid, children=True) - before[name]) / SECONDS,
            measure.pss_bytes(pid),
        ]
        for name, pid in pids.items()
    }


def _main_pid(unit: str) -> int:
    shown = subprocess.run(
        ["/usr/bin/systemctl", "show", unit, "-p", "MainPID", "--value"],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(shown.stdout)


if __name__ == "__main__":
    main()
