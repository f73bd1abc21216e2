"""Owns a time service in a container: four layouts, healthy again before each test."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import pytest

from tests.support.nspawn import Done, Machine
from tests.support.waiting import wait_for

#: Commands that only show something; how they end depends on what they show.
LOOKS = ("systemctl status ", "systemd-analyze ", "systemctl cat ", "journalctl ")


class Layout(NamedTuple):
    """How a distribution names chronyd's unit, and what else leads to it."""

    #: The real unit.
    unit: str
    #: Its other name.
    alias: str
    #: Makes the unit files, from nothing.
    script: str


#: The unit as chrony's authors publish it, in short.
_UPSTREAM = r"""
[ ! -e /etc/init.d/chrony ] || mv /etc/init.d/chrony /root/pristine/init
cat >/usr/lib/systemd/system/chronyd.service <<END
[Unit]
Description=NTP client/server
After=network.target
Conflicts=ntpd.service systemd-timesyncd.service
[Service]
Type=forking
PIDFile=/run/chrony/chronyd.pid
ExecStart=/usr/sbin/chronyd
[Install]
WantedBy=multi-user.target
END
"""
LAYOUTS: Dict[str, Layout] = {
    "no-alias": Layout("chronyd.service", "ntpd.service", _UPSTREAM),
    "vendor-alias": Layout(
        "chronyd.service",
        "ntpd.service",
        _UPSTREAM
        + "sed -i s/ntpd.service.// /usr/lib/systemd/system/chronyd.service\n"
        + "ln -s chronyd.service /usr/lib/systemd/system/ntpd.service\n",
    ),
    "install-alias": Layout(
        "chronyd.service",
        "ntpd.service",
        _UPSTREAM
        + "sed -i s/ntpd.service.// /usr/lib/systemd/system/chronyd.service\n"
        + "echo Alias=ntpd.service >>/usr/lib/systemd/system/chronyd.service\n",
    ),
    "debian": Layout(
        "chrony.service",
        "chronyd.service",
        # Debian's own unit asks for the right to set the clock, which no container here has.
        "[ ! -e /root/pristine/init ] || mv /root/pristine/init /etc/init.d/chrony\n"
        "cp /root/pristine/chrony.service /usr/lib/systemd/system/\n"
        "mkdir /usr/lib/systemd/system/chrony.service.d\n"
        "printf '[Unit]\\nConditionCapability=\\n'"
        " >/usr/lib/systemd/system/chrony.service.d/lab.conf\n",
    ),
}

_CLEAN = r"""
systemctl stop $(systemctl list-units --all --plain --no-legend 'ntp*' 'chron*.service' |
    awk '{print $1}') 2>/dev/null || true
pkill -KILL -x chronyd || true
while pgrep -x chronyd >/dev/null; do :; done
for where in /etc /run /usr/lib; do
    rm -rf $where/systemd/system/chron* $where/systemd/system/*ntp*
    rm -f $where/systemd/system/multi-user.target.wants/chron*
    rm -f $where/systemd/system/multi-user.target.wants/*ntp*
done
rm -rf /run/chrony /etc/clock-agent
[ -e /etc/init.d/chrony ] || [ -e /root/pristine/init ] || cp /root/pristine/chrony.init \
    /etc/init.d/chrony
[ ! -e /usr/sbin/chronyd.away ] || mv /usr/sbin/chronyd.away /usr/sbin/chronyd
[ ! -e /usr/lib/realbin/chronyd.away ] || mv /usr/lib/realbin/chronyd.away /usr/lib/realbin/chronyd
sed -i /nonsense/d /etc/chrony.conf
cp /etc/chrony.conf /etc/chrony/chrony.conf
"""


class TimeHost:
    """One layout on a booted machine."""

    def __init__(self, machine: Machine, layout: str) -> None:
        self.machine = machine
        self.layout = LAYOUTS[layout]

    @property
    def unit(self) -> str:
        """The real unit's name."""
        return self.layout.unit

    @property
    def alias(self) -> str:
        """Its other name."""
        return self.layout.alias

    def heal(self) -> None:
        """Make the layout's files afresh, start chronyd and wait until it is synchronised."""
        self.machine.must(_CLEAN + self.layout.script)
        self.machine.must(
            "systemctl daemon-reload; systemctl reset-failed\n"
            "systemctl is-active --quiet upstream || systemctl start upstream\n"
            f"systemctl enable --now {self.unit}\n"
            "chronyc waitsync 100 0 0 0.1 >/dev/null"
        )

    def wait_until_well(self) -> None:
        """Until the agent has nothing to say against this host."""

        def well() -> bool:
            done = self.machine.agent("check", "--live")
            said.append(done.stdout)
            return done.status == 0

        said: List[str] = []
        try:
            wait_for(well, timeout=20.0, every=0.2)
        except AssertionError:
            raise AssertionError(f"not well after 20 s: {said[-1]}") from None

    def check(self) -> Tuple[Done, Dict[str, Any]]:
        """``check --live --json``: how it ended, and its ``service`` condition."""
        done = self.machine.agent("check", "--live", "--json")
        conditions = {each["name"]: each for each in done.json["conditions"]}
        return done, conditions["service"]

    def remedy(self, lines: List[str]) -> None:
        """Carry out a remedy of doctor's as printed: every command has to succeed."""
        for line in lines:
            if line.startswith(LOOKS):
                self.machine.shell(line)
            else:
                self.machine.must(line)


@pytest.fixture(scope="session")
def time_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One booted container for every test of a session that breaks and mends time services."""
    machine = Machine(tmp_path_factory.mktemp("nspawn") / "console.log")
    yield machine
    machine.stop()


def healthy(machine: Machine, layout: str) -> TimeHost:
    """A host of that layout with nothing wrong."""
    host = TimeHost(machine, layout)
    host.heal()
    return host
