"""Owns the tests of doctor and check on a booted host: what lies behind systemd, and no traces."""

from __future__ import annotations

import os
import signal
from typing import Any, Dict

import pytest

from tests.support.nspawn import Machine
from tests.support.time_host import healthy
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

#: Everything that doctor could have touched, as far as the host itself can tell. Left out is what
#: chronyd and the journal write by themselves, and that chronyc has a socket there while it asks.
TRACES = r"""
find /etc /usr /var/lib /run /root /tmp -xdev -printf '%p %l %s %m %u %T@\n' |
    grep -vE '^/(run/log|run/utmp|run/chrony |var/lib/chrony)'
systemctl list-unit-files --no-pager --plain
systemctl list-units --all --no-pager --plain --no-legend | awk '{print $1, $2, $3, $4}'
systemctl show -p MainPID,ActiveEnterTimestampMonotonic,StateChangeTimestampMonotonic \
    chrony.service chronyd.service clock-agent.service
chronyc -c -n sources | cut -d, -f1-4
cat /etc/chrony/chrony.conf
"""


#: Stands in for a StatsD server: prints whatever arrives.
LISTENER = """\
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 8125))
while True:
    print(server.recv(2000), flush=True)
"""


def findings(machine: Machine) -> Dict[str, Dict[str, Any]]:
    document = machine.agent("doctor", "--json").json
    return {f"{each['topic']} {each['cause']}": each for each in document["findings"]}


def test_a_healthy_host_has_nothing_to_mend(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    done = time_machine.agent("doctor")
    assert done.status == 0, done.stdout
    assert "nothing to mend" in done.stdout


@pytest.mark.parametrize("broken", [False, True])
def test_doctor_leaves_no_trace_and_tells_nobody(time_machine: Machine, broken: bool) -> None:
    host = healthy(time_machine, "debian")
    time_machine.must(
        "mkdir -p /etc/clock-agent; cat >/etc/clock-agent/config.yaml <<END\n"
        "consecutive: 1\nalerts: [{type: command, argv: [/usr/bin/tee, -a, /run/told]}]\nEND\n"
        f"setsid python3 -c '{LISTENER}' </dev/null >/run/heard 2>&1 & echo $! >/run/listener.pid"
    )
    try:
        wait_for(lambda: ":1FBD " in time_machine.must("cat /proc/net/udp"), timeout=10.0)
        if broken:
            time_machine.must(f"systemctl disable {host.unit}; systemctl mask ntpd.service")
        time_machine.agent("doctor")  # whatever is made once, such as a cache, is made by now
        before = time_machine.must(TRACES)
        assert time_machine.agent("doctor").status == (1 if broken else 0)
        time_machine.agent("doctor", "--json")
        time_machine.agent("check", "--live")
        assert time_machine.must(TRACES) == before
    finally:  # the next test wants the port
        time_machine.must("kill $(cat /run/listener.pid)")
    assert time_machine.must("cat /run/heard") == ""
    assert "told" not in time_machine.must("ls /run").split()


def test_a_boot_link_removed_behind_systemds_back_is_seen(time_machine: Machine) -> None:
    host = healthy(time_machine, "debian")
    time_machine.must(f"rm /etc/systemd/system/multi-user.target.wants/{host.unit}")
    found = findings(time_machine)["service no-boot-link"]
    assert found["verdict"] == "warning"
    assert "though systemctl calls it enabled" in found["seen"]
    host.remedy(found["remedy"])
    assert "service no-boot-link" not in findings(time_machine)


def test_a_boot_link_that_leads_to_nothing_is_seen_though_systemctl_calls_it_enabled(
    time_machine: Machine,
) -> None:
    host = healthy(time_machine, "debian")
    link = f"/etc/systemd/system/multi-user.target.wants/{host.unit}"
    time_machine.must(f"ln -sf /dev/null {link}; systemctl daemon-reload")
    assert time_machine.must(f"systemctl is-enabled {host.unit}") == "enabled\n"
    assert host.unit not in time_machine.must("systemctl show --property=Wants multi-user.target")
    found = findings(time_machine)["service no-boot-link"]
    host.remedy(found["remedy"])
    assert host.unit in time_machine.must("systemctl show --property=Wants multi-user.target")


def test_the_mask_is_shown_with_the_time_it_was_made(time_machine: Machine) -> None:
    host = healthy(time_machine, "debian")
    time_machine.must(f"systemctl mask {host.alias} --force")
    time_machine.must(f"touch -h -d 2026-08-13T04:12:09Z /etc/systemd/system/{host.alias}")
    found = findings(time_machine)["service masked-alias"]
    assert "(made 2026-08-13T04:12:09.000Z, no package owns it)" in found["seen"]
    assert found["where"] == [f"/etc/systemd/system/{host.alias}"]


BAD_CONF = """\
server 127.0.0.1 port 1123 iburst minpoll -2 maxpoll 0
cmdport 0
local stratum 3
makestep 1 -1"""


def test_a_bad_configuration_is_mended_as_printed(time_machine: Machine) -> None:
    host = healthy(time_machine, "debian")
    time_machine.must(f"printf '{BAD_CONF}' >/etc/chrony/chrony.conf; systemctl restart chrony")
    about = [each for key, each in findings(time_machine).items() if key.startswith("chrony.conf")]
    assert [each["verdict"] for each in about].count("warning") == 4
    for each in about:
        host.remedy(each["remedy"])
    left = [key for key, e in findings(time_machine).items() if e["topic"] == "chrony.conf"]
    assert left == ["chrony.conf read"]
    host.wait_until_well()


def test_a_daemon_with_a_long_name_is_seen(time_machine: Machine) -> None:
    """The kernel knows only the first 15 characters of a name."""
    healthy(time_machine, "debian")
    time_machine.must(
        "cp /bin/sleep /run/systemd-timesyncd; setsid /run/systemd-timesyncd 60 >/dev/null 2>&1 &"
    )
    found = wait_for(lambda: findings(time_machine).get("service second-discipliner"), timeout=10.0)
    time_machine.must("pkill -x systemd-timesyn")
    assert "systemd-timesyncd" in found["seen"]


def test_another_daemon_without_a_unit_is_seen(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    time_machine.must("cp /bin/sleep /run/ntpd; setsid /run/ntpd 60 >/dev/null 2>&1 &")
    found = wait_for(lambda: findings(time_machine).get("service second-discipliner"), timeout=10.0)
    assert "ntpd" in found["seen"]
    for line in found["remedy"]:
        time_machine.must(line)
    wait_for(lambda: "service second-discipliner" not in findings(time_machine), timeout=10.0)


def test_guest_tools_that_may_set_the_clock_are_a_note(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    time_machine.must("cp /bin/sleep /run/vmtoolsd; setsid /run/vmtoolsd 60 >/dev/null 2>&1 &")
    found = wait_for(lambda: findings(time_machine).get("service guest-tools"), timeout=10.0)
    time_machine.must("pkill vmtoolsd")
    assert found["verdict"] == "ok"


def test_two_chronyds_are_seen(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    time_machine.must(
        "chronyd -U -u root 'server 127.0.0.1 port 1123' 'pidfile /run/2.pid'"
        " 'cmdport 0' 'bindcmdaddress /'"
    )
    found = findings(time_machine)
    time_machine.must("kill $(cat /run/2.pid)")
    assert found["service two-chronyds"]["verdict"] == "warning"


def test_the_configuration_chronyd_was_started_with_is_the_one_judged(
    time_machine: Machine,
) -> None:
    host = healthy(time_machine, "debian")
    time_machine.must(
        "sed s/makestep.*// /etc/chrony.conf >/run/other.conf\n"
        f"systemctl stop {host.unit}; chronyd -f /run/other.conf"
    )
    found = findings(time_machine)
    assert found["chrony.conf no-makestep"]["where"] == ["/run/other.conf"]


def test_a_name_in_the_configuration_that_does_not_exist_is_said(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    time_machine.must(
        "mkdir -p /etc/clock-agent; echo 'service: {unit: chronny}' >/etc/clock-agent/config.yaml"
    )
    done = time_machine.agent("check", "--live")
    assert done.status == 2
    assert "chronny.service" in done.stdout


def test_an_unreachable_bus_is_unknown_and_not_inactive(time_machine: Machine) -> None:
    """Root talks to systemd directly; only somebody else needs the bus."""
    healthy(time_machine, "debian")
    time_machine.must("systemctl stop dbus.socket dbus.service")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = time_machine.run(*nobody, "clock-agent", "check", "--live")
    time_machine.must("systemctl start dbus.socket")
    assert done.status == 3, done.stdout
    assert "service UNKNOWN bus-unreachable" in done.stdout
    assert "sync OK" in done.stdout


def test_a_systemd_that_does_not_answer_is_unknown_in_time(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    os.kill(time_machine.init, signal.SIGSTOP)
    try:
        done = time_machine.run("clock-agent", "check", "--live", timeout=5.0)
    finally:
        os.kill(time_machine.init, signal.SIGCONT)
    assert done.status == 3, done.stdout
    assert "service UNKNOWN systemctl-hung" in done.stdout
    assert "sync OK" in done.stdout


def test_the_daemon_is_found_running_and_found_stopped(time_machine: Machine) -> None:
    healthy(time_machine, "debian")
    time_machine.must(
        "printf '[Service]\\nExecStart=/usr/bin/clock-agent run\\nRuntimeDirectory=clock-agent\\n"
        "StateDirectory=clock-agent\\n[Install]\\nWantedBy=multi-user.target\\n'"
        " >/etc/systemd/system/clock-agent.service\n"
        "systemctl daemon-reload; systemctl enable --now clock-agent"
    )
    try:
        wait_for(lambda: "clock-agent running" in findings(time_machine), timeout=20.0)
        time_machine.must("systemctl stop clock-agent")
        stopped = findings(time_machine)["clock-agent stopped"]
        assert stopped["verdict"] == "warning"
        for line in stopped["remedy"]:
            time_machine.must(line)
        wait_for(lambda: "clock-agent running" in findings(time_machine), timeout=20.0)
    finally:
        time_machine.must(
            "systemctl disable --now clock-agent; rm /etc/systemd/system/clock-agent.service\n"
            "rm -rf /var/lib/clock-agent /run/clock-agent; systemctl daemon-reload"
        )
