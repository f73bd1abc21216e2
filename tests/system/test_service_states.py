"""Owns the tests on a real systemd: states as people cause them, their verdict, their remedy."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Callable, Dict, Iterator, NamedTuple, Tuple

import pytest

from tests.support.crew import Crew
from tests.support.nspawn import Machine
from tests.support.time_host import LAYOUTS, healthy
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

#: The clean-up script of the incident, word for word but for the pattern.
CLEAN_UP = """
for unit in $(systemctl list-unit-files | grep -iE '{pattern}' | awk '{{print $1}}'); do
  systemctl disable --now "$unit"
  systemctl mask "$unit"
done
true
"""
INCIDENT = CLEAN_UP.replace("{pattern}", "ntp")
ALL = ("vendor-alias", "install-alias", "debian")
RHEL_LIKE = ("vendor-alias", "install-alias")
DEBIAN = ("debian",)
ALONE = ("no-alias",)
#: Waits until systemd has seen the end of the process.
GONE = "while systemctl is-active -q {unit}; do :; done"
#: Waits until a chronyd that was started by hand knows the time.
SYNCED = "chronyc waitsync 100 0 0 0.1"
#: A daemon that steers the clock, as far as systemd can tell.
RIVAL = """
printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' \\
    >/etc/systemd/system/{name}
systemctl daemon-reload
"""
DROP_IN = """
mkdir -p /etc/systemd/system/{{unit}}.d
printf '{text}' >/etc/systemd/system/{{unit}}.d/x.conf
systemctl daemon-reload
"""
NO_DROP_IN = "rm -r /etc/systemd/system/{unit}.d; systemctl daemon-reload"
BREAK_CONF = "echo nonsense >>/etc/chrony.conf; echo nonsense >>/etc/chrony/chrony.conf; "
MEND_CONF = "sed -i /nonsense/d /etc/chrony.conf /etc/chrony/chrony.conf"
NO_UNIT_FILE = """
rm -f /etc/init.d/chrony /usr/lib/systemd/system/{unit} /etc/systemd/system/{alias}
rm -f /etc/systemd/system/multi-user.target.wants/{unit}
systemctl daemon-reload
"""
LINK = "/etc/systemd/system/multi-user.target.wants/{unit}"
RELOAD = "; systemctl daemon-reload"


class State(NamedTuple):
    """One way to break the time service."""

    name: str
    layouts: Tuple[str, ...]
    #: ``{unit}`` is the real name, ``{alias}`` the other.
    script: str
    cause: str
    #: Exit status of ``check --live``.
    status: int
    #: What a person has to do before the commands of the advice can help.
    before: str = ""


STATES = (
    State("incident", ("vendor-alias",), INCIDENT, "disabled-stopped", 2),
    State("incident", ("install-alias",), INCIDENT, "disabled-running", 1),
    State(
        "incident on chronyd",
        DEBIAN,
        CLEAN_UP.replace("{pattern}", "^chronyd"),
        "disabled-running",
        1,
    ),
    State(
        "incident with a link made by hand",
        DEBIAN,
        "ln -s /lib/systemd/system/chrony.service /etc/systemd/system/ntpd.service\n"
        "systemctl daemon-reload\n" + INCIDENT,
        "disabled-running",
        1,
    ),
    State(
        "incident with a vendor link",
        DEBIAN,
        "ln -s chrony.service /usr/lib/systemd/system/ntpd.service\n"
        "systemctl daemon-reload\n" + INCIDENT,
        "disabled-stopped",
        2,
    ),
    State("alias masked", ALL, "systemctl mask --force {alias}", "masked-alias", 1),
    State("mask for nothing", DEBIAN, "systemctl mask ntpd.service", "active", 0),
    State("masked", ALONE, "systemctl mask --now {unit}", "masked", 2),
    State("masked", ALL, "systemctl mask --now {unit}", "masked-alias-left", 2),
    State("masked while running", ALONE, "systemctl mask {unit}", "masked-running", 2),
    State("masked while running", ALL, "systemctl mask {unit}", "masked-alias-left", 2),
    State(
        "masked until reboot",
        ("no-alias", "debian"),
        "systemctl mask --runtime {unit}",
        "masked-runtime",
        2,
    ),
    State(
        "empty file",
        ALL,
        "rm -f /etc/systemd/system/{alias}; : >/etc/systemd/system/{unit}\n"
        "systemctl daemon-reload; systemctl stop {unit}",
        "empty-unit-file",
        2,
    ),
    State("no unit file", DEBIAN, "systemctl stop {unit}" + NO_UNIT_FILE, "not-found", 2),
    State("no unit file while running", DEBIAN, NO_UNIT_FILE, "unit-file-gone", 2),
    State("package removed", DEBIAN, "apt-get remove -y -qq chrony", "not-found", 2),
    State("disabled", ALL, "systemctl disable {unit}", "disabled-running", 1),
    State("disabled by its alias", RHEL_LIKE, "systemctl disable {alias}", "disabled-running", 1),
    State("disabled and stopped", ALL, "systemctl disable --now {unit}", "disabled-stopped", 2),
    State(
        "enabled until reboot",
        ALL,
        "systemctl disable {unit}; systemctl enable --runtime {unit}",
        "disabled-running",
        1,
    ),
    State("boot link to nothing", ALL, "ln -sf /dev/null " + LINK + RELOAD, "no-boot-link", 1),
    State("boot link removed by hand", ("vendor-alias",), "rm " + LINK, "disabled-running", 1),
    State(
        "enabled by its alias alone",
        ("install-alias", "debian"),
        "rm " + LINK + RELOAD,
        "no-boot-link",
        1,
    ),
    State(
        "a file for a boot link",
        ("install-alias", "debian"),
        "rm " + LINK + "; : >" + LINK + RELOAD,
        "no-boot-link",
        1,
    ),
    State(
        "a file for a boot link, without an alias",
        ALONE,
        "systemctl disable {unit}; : >" + LINK + RELOAD,
        "disabled-running",
        1,
    ),
    State("stopped", ALL, "systemctl stop {unit}", "stopped", 2),
    State("told to end", ALL, "chronyc shutdown; " + GONE, "exited", 2),
    State("ended from outside", DEBIAN, "pkill -x chronyd; " + GONE, "exited", 2),
    State("killed", ALL, "pkill -KILL -x chronyd; " + GONE, "failed-signal", 2),
    State("crashed", DEBIAN, "pkill -SEGV -x chronyd; " + GONE, "failed-signal", 2),
    State(
        "forgotten failure",
        DEBIAN,
        "pkill -KILL -x chronyd; " + GONE + "; systemctl reset-failed {unit}",
        "exited",
        2,
    ),
    State(
        "started too often",
        DEBIAN,
        "for each in 1 2 3 4 5 6 7; do systemctl restart {unit}; done",
        "failed",
        2,
    ),
    State(
        "bad configuration",
        ALL,
        BREAK_CONF + "systemctl restart {unit}",
        "failed-exit-code",
        2,
        before=MEND_CONF,
    ),
    State(
        "program missing",
        ALL,
        "mv /usr/sbin/chronyd /usr/sbin/chronyd.away; systemctl restart {unit}",
        "program-missing",
        2,
        # The package of this Debian would put it elsewhere: see tests.support.debian_root.
        before="mv /usr/sbin/chronyd.away /usr/sbin/chronyd",
    ),
    State(
        "restart loop",
        DEBIAN,
        DROP_IN.format(text="[Service]\\nRestart=always\\nRestartSec=5s\\n")
        + BREAK_CONF
        + "systemctl restart {unit}",
        "restart-loop",
        2,
        before=MEND_CONF,
    ),
    State(
        "starting",
        DEBIAN,
        DROP_IN.format(text="[Service]\\nExecStartPre=/bin/sleep 5\\n")
        + "systemctl restart --no-block {unit}; sleep 0.5",
        "activating",
        2,
    ),
    State(
        "stopping",
        DEBIAN,
        DROP_IN.format(text="[Service]\\nExecStop=/bin/sleep 3\\n")
        + "systemctl restart --no-block {unit}; sleep 0.5",
        "deactivating",
        1,
    ),
    State(
        "condition not met",
        DEBIAN,
        "rm -r /usr/lib/systemd/system/chrony.service.d\n"
        "systemctl daemon-reload; systemctl restart {unit}",
        "condition-failed",
        2,
        before="mkdir /usr/lib/systemd/system/chrony.service.d\n"
        "printf '[Unit]\\nConditionCapability=\\n'"
        " >/usr/lib/systemd/system/chrony.service.d/lab.conf\n"
        "systemctl daemon-reload; systemctl restart {unit}",
    ),
    State(
        "bad setting",
        ALL,
        "systemctl stop {unit}" + DROP_IN.format(text="[Service]\\nExecStart=\\n"),
        "bad-setting",
        2,
        before=NO_DROP_IN,
    ),
    State(
        "stopped by another daemon",
        DEBIAN,
        RIVAL.format(name="ntp.service") + "systemctl start ntp.service",
        "stopped-by-other",
        2,
    ),
    State(
        "another daemon beside it",
        ALL,
        RIVAL.format(name="ntpsec.service")
        + "sed -i s/ntpsec.service// /usr/lib/systemd/system/{unit}\n"
        "systemctl daemon-reload; systemctl enable --now ntpsec.service",
        "second-discipliner",
        1,
    ),
    State(
        "two units",
        DEBIAN,
        "rm /etc/systemd/system/chronyd.service\n"
        "cp /usr/lib/systemd/system/chrony.service /etc/systemd/system/chronyd.service\n"
        "sed -i /^Alias/d /etc/systemd/system/chronyd.service\n"
        "systemctl daemon-reload; systemctl enable chronyd.service",
        "contradictory-names",
        1,
    ),
    State(
        "started by hand", ALL, "systemctl stop {unit}; chronyd; " + SYNCED, "started-by-hand", 1
    ),
    State(
        "started by hand without a unit",
        DEBIAN,
        "systemctl stop {unit}" + NO_UNIT_FILE + "chronyd; " + SYNCED,
        "started-by-hand",
        1,
    ),
    State(
        "forgotten process",
        DEBIAN,
        "systemctl stop {unit}; chronyd; " + SYNCED + "\n"
        "group=/sys/fs/cgroup/systemd; [ -d $group ] || group=/sys/fs/cgroup\n"
        "group=$group/system.slice/{unit}\n"
        "mkdir -p $group; pgrep -x chronyd >$group/cgroup.procs",
        "lost-process",
        1,
    ),
    State("process stopped", ALL, "pkill -STOP -x chronyd", "process-stopped", 2),
    State(
        "another program",
        DEBIAN,
        DROP_IN.format(
            text="[Service]\\nType=simple\\nPIDFile=\\nExecStart=\\nExecStart=/bin/sleep 99\\n"
        )
        + "systemctl restart {unit}",
        "wrong-program",
        2,
        before=NO_DROP_IN,
    ),
)

CASES = {f"{state.name}-{layout}": (state, layout) for state in STATES for layout in state.layouts}


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """A machine for each real name: systemd 252 trips when an alias becomes a unit of its own.

    It then keeps one control group for both names, and takes a new chronyd for an intruder.
    """
    names = {layout.unit for layout in LAYOUTS.values()}
    crew = Crew(names, tmp_path_factory.mktemp("crew"))
    yield crew
    crew.stop()


@pytest.fixture(scope="module")
def attempts(request: pytest.FixtureRequest, crew: Crew) -> Dict[str, Future[None]]:
    """All the cases that were asked for, under way on several machines."""
    chosen = [
        str(item.callspec.params["case"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.function is test_a_state_is_named_and_its_remedy_mends_it
    ]
    return {case: started(crew, CASES[case][1], partial(attempt, *CASES[case])) for case in chosen}


def started(crew: Crew, layout: str, work: Callable[[Machine], None]) -> Future[None]:
    return crew.start(LAYOUTS[layout].unit, work)


@pytest.mark.parametrize("case", CASES)
def test_a_state_is_named_and_its_remedy_mends_it(
    attempts: Dict[str, Future[None]], case: str
) -> None:
    attempts[case].result()


def attempt(state: State, layout: str, machine: Machine) -> None:
    host = healthy(machine, layout)
    machine.shell(state.script.format(unit=host.unit, alias=host.alias))
    done, service = host.check()
    assert service["cause"] == state.cause, service
    assert done.status == state.status, done.stdout
    seen = machine.agent("doctor", "--json")
    assert seen.status == state.status, seen.stdout
    found = {each["cause"]: each for each in seen.json["findings"] if each["topic"] == "service"}
    if state.before:
        machine.must(state.before.format(unit=host.unit, alias=host.alias))
    host.remedy(found[state.cause]["remedy"])
    host.wait_until_well()
    left = machine.shell("ps -o stat= -C chronyd").stdout.split()
    assert not [stat for stat in left if stat.startswith("T")], left


@pytest.mark.parametrize(
    ("layout", "before", "told"),
    [
        ("vendor-alias", "", "is stopped and disabled"),
        ("install-alias", "", "runs now, but is disabled: it will not start at the next boot"),
        (
            "debian",
            "ln -s chrony.service /usr/lib/systemd/system/ntpd.service; systemctl daemon-reload",
            "is stopped and disabled",
        ),
    ],
)
def test_the_daemon_tells_of_the_incident_at_its_first_reading(
    crew: Crew, layout: str, before: str, told: str
) -> None:
    started(crew, layout, partial(incident, layout, before, told)).result()


def incident(layout: str, before: str, told: str, machine: Machine) -> None:
    host = healthy(machine, layout)
    machine.shell(before + "\n" + INCIDENT.format())
    machine.must(
        "mkdir -p /etc/clock-agent; cat >/etc/clock-agent/config.yaml <<END\n"
        "interval: 1h\nconfirm_interval: 30m\nstatsd: {enabled: false}\n"
        "alerts: [{type: command, argv: [/usr/bin/tee, -a, /run/told]}]\nEND\n"
        "setsid clock-agent run >/run/said 2>&1 & echo $! >/run/agent.pid"
    )
    try:
        alert = wait_for(
            lambda: machine.shell("grep -h clock-agent/.*/service /run/told").stdout,
            timeout=20.0,
        )
    finally:
        machine.must(
            "kill $(cat /run/agent.pid); tail --pid=$(cat /run/agent.pid) -f /dev/null\n"
            "rm -rf /run/told /var/lib/clock-agent /run/clock-agent"
        )
    assert f"{host.unit} {told}" in alert
    assert "its other name ntpd.service is masked" in alert
    assert "systemctl unmask ntpd.service" in alert
    assert f"systemctl enable {'--now ' if 'stopped' in told else ''}{host.unit}" in alert
