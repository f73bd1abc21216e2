"""Owns the comparison with what Debian ships for the same job, side by side on one booted system.

The package is installed as it is built, beside check_ntp_time, check_chrony, node_exporter with its
ntp and timex collectors, and collectd's chrony plugin.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from tests.support import dist
from tests.support.debian_root import cached, must
from tests.support.nspawn import Machine

PACKAGES = (
    "monitoring-plugins-basic",
    "monitoring-plugins-contrib",
    "prometheus-node-exporter",
    "collectd-core",
    "curl",
)
_RECIPE = f"""
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get install -qq --no-install-recommends {" ".join(PACKAGES)}
rm /usr/sbin/policy-rc.d
systemctl disable --quiet prometheus-node-exporter collectd
"""
#: chronyd serves time on loopback, because check_ntp_time and node_exporter ask it that way.
_PREPARE = """
echo 'allow 127.0.0.1' >>/etc/chrony/chrony.conf
systemctl restart chrony
chronyc -n waitsync 20 0.1 0 0.5 >/dev/null
printf 'interval: 1s\\nconfirm_interval: 1s\\n' >/etc/clock-agent/config.yaml
systemctl restart clock-agent
systemctl start redis-server
sleep 3
clock-agent check >/dev/null
"""


def table(directory: Path, rounds: int) -> List[Tuple[str, ...]]:
    """Measure, and return the rows of a table with its heading. Needs root and some minutes."""
    built = dist.build(dist.PROJECT, directory, epoch=1_767_225_600)
    deb = next(built.glob("*_amd64.deb"))
    binds = {"/packages": built, "/bench": Path(__file__).parent}
    machine = Machine(directory / "console.log", _root(), binds)
    try:
        machine.must(f"dpkg -i /packages/{deb.name}\n{_PREPARE}", timeout=120)
        done = machine.run("python3", "-B", "/bench/inside.py", str(rounds), timeout=600)
        if done.status:
            sys.exit(done.stderr)
        return list(_rows(done.json))
    finally:
        machine.stop()


def _root() -> Path:
    base = dist.package_root()

    def fill(unfinished: Path) -> None:
        must(["cp", "-a", str(base), str(unfinished)])
        must(["chroot", str(unfinished), "/bin/sh", "-c", _RECIPE])

    return cached(f"{base.name.replace('packages-', 'peers-')}-{len(_RECIPE)}", fill)


def _rows(result: Dict[str, Any]) -> Iterator[Tuple[str, ...]]:
    floor = result["healthy"].pop("python3 -IS -c pass")[0]
    yield "an answer", "chronyd well", "exit", "x python3", "chronyd hung", "exit"
    for name, (seconds, status, _) in result["healthy"].items():
        hung, hung_status, _ = result["hung"][name]
        yield name, _ms(seconds), f"{status}", f"{seconds / floor:.1f}", _ms(hung), f"{hung_status}"
    yield from _live(result["live"])
    yield "a watcher", "memory (PSS)", "", "", "CPU per reading", ""
    for name, (cpu, pss) in sorted(result["watching"].items()):
        yield name, f"{pss / 1024**2:.1f} MiB", "", "", _ms(cpu), ""


def _live(taken: Dict[str, Any]) -> Iterator[Tuple[str, ...]]:
    """The budget of a live check: twice what asking by hand takes, and starting Python."""
    by_hand = [each for name, each in taken.items() if "check" not in name]
    usual, least = (sum(each[column] for each in by_hand) for column in (0, 2))
    yield "a live check, all well", "", "exit", "x by hand", "at best", "x by hand"
    for name, (median, status, shortest) in taken.items():
        ratios = (f"{median / usual:.2f}", f"{shortest / least:.2f}")
        usually, at_best = ratios if "check" in name else ("", "")
        yield name, _ms(median), f"{status}", usually, _ms(shortest), at_best


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
