"""The .deb on a booted Debian: installed, upgraded, removed, and baked into an image."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Iterator, Mapping

import pytest

from tests.packages.conftest import Built
from tests.support import dist
from tests.support.dist import OLD_VERSION, package_root
from tests.support.nspawn import Machine
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

CONFIG = "/etc/clock-agent/config.yaml"
#: No terminal, no questions: as an image build or an unattended upgrade does it.
APT = "DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --allow-downgrades"


class Host:
    """The machine, and what an administrator does with the package on it."""

    def __init__(self, machine: Machine, built: Built, older: Built) -> None:
        self.machine = machine
        self.new = f"/packages/new/{built.deb.name}"
        self.old = f"/packages/old/{older.deb.name}"

    def install(self, package: str) -> None:
        """Install or upgrade."""
        self.machine.must(f"{APT} {package}", timeout=120)

    def shown(self, *names: str) -> Mapping[str, str]:
        """Properties of the unit."""
        text = self.machine.must(f"systemctl show clock-agent -p {','.join(names)}")
        return dict(line.split("=", 1) for line in text.splitlines())

    @property
    def state(self) -> str:
        """``active`` or not, and ``enabled`` or not."""
        shown = self.shown("ActiveState", "UnitFileState")
        return f"{shown['ActiveState']} {shown['UnitFileState']}".strip()

    def wait_for_reading(self) -> str:
        """The status line, once there is one."""
        return wait_for(lambda: self.shown("StatusText")["StatusText"], what="a status line")


@pytest.fixture(scope="module")
def machine(
    built: Built, older: Built, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """A booted Debian that sees the packages."""
    booted = Machine(
        tmp_path_factory.mktemp("nspawn") / "console.log",
        package_root(),
        {"/packages/new": built.dist, "/packages/old": older.dist},
    )
    wait_for(lambda: "upstream" not in booted.shell("systemctl is-active upstream").stderr)
    yield booted
    booted.stop()


@pytest.fixture
def host(machine: Machine, built: Built, older: Built) -> Host:
    """The same without any trace of the package."""
    machine.must(
        "dpkg --purge clock-agent; systemctl unmask --quiet clock-agent 2>/dev/null || true\n"
        "rm -rf /etc/systemd/system/clock-agent* /usr/sbin/policy-rc.d /etc/clock-agent\n"
        "systemctl daemon-reload; systemctl reset-failed; systemctl restart chrony\n"
        "chronyc -n waitsync 20 0.1 0 0.5 >/dev/null"
    )
    return Host(machine, built, older)


def test_it_runs_and_is_ready_soon_after_its_installation(host: Host) -> None:
    host.install(host.new)

    assert host.state == "active enabled"
    shown = host.shown("ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic", "User")
    started, ready = (
        shown["ExecMainStartTimestampMonotonic"],
        shown["ActiveEnterTimestampMonotonic"],
    )
    assert int(ready) - int(started) < 2_000_000
    assert shown["User"] == "clock-agent"
    assert host.machine.must(f"stat -c '%U:%G %a' {CONFIG}") == "root:clock-agent 640\n"
    assert host.machine.must("stat -c '%U %a' /run/clock-agent /var/lib/clock-agent") == (
        "clock-agent 755\nclock-agent 750\n"
    )
    assert host.machine.must("dpkg --verify clock-agent") == ""


def test_the_status_line_and_any_users_check_tell_the_offset(host: Host) -> None:
    host.machine.must(f"umask 077; {APT} {host.new}", timeout=120)
    wait_for(lambda: "CLOCK OK" in host.wait_for_reading(), what="a good reading")

    assert "ms" in host.wait_for_reading()
    done = host.machine.run("runuser", "-u", "nobody", "--", "clock-agent", "check")
    assert (done.status, done.stdout[:8]) == (0, "CLOCK OK"), done.stdout


def test_one_changed_line_is_taken_over_and_a_broken_one_is_not(host: Host) -> None:
    host.install(host.new)
    before = host.shown("MainPID")

    host.machine.must(f"echo 'interval: 7m' >>{CONFIG}; systemctl reload clock-agent")
    wait_for(
        lambda: "reloaded" in host.machine.must("journalctl -u clock-agent -n 5 -o cat"),
        what="the reload",
    )
    broken = host.machine.shell(f"echo 'intervall: 8m' >>{CONFIG}; systemctl reload clock-agent")

    assert broken.status != 0
    said = host.machine.must("journalctl -u clock-agent -n 8 -o cat")
    assert f"{CONFIG}:5: intervall: is not a known key; did you mean 'interval'?" in said
    assert (host.shown("MainPID"), host.state) == (before, "active enabled")


def test_a_broken_configuration_at_the_first_start_heals_without_a_second_command(
    host: Host,
) -> None:
    host.machine.must(
        f"mkdir -p /etc/clock-agent /etc/systemd/system/clock-agent.service.d\n"
        f"echo 'interval: 5' >{CONFIG}\n"
        "printf '[Service]\\nRestartSec=200ms\\n'"
        " >/etc/systemd/system/clock-agent.service.d/fast.conf"
    )
    host.machine.shell(f"{APT} -o Dpkg::Options::=--force-confold {host.new}", timeout=120)
    # More than systemd's usual limit of five starts.
    wait_for(lambda: int(host.shown("NRestarts")["NRestarts"]) > 6, timeout=30, what="restarts")
    said = host.machine.must("journalctl -u clock-agent -o cat")
    assert f"{CONFIG}:1: interval: '5' has no unit; write ms, s, m, h or d" in said
    assert "Traceback" not in said

    host.machine.must(f"echo 'interval: 5m' >{CONFIG}")

    wait_for(lambda: host.state == "active enabled", timeout=30, what="its recovery")


def test_a_stuck_loop_is_ended_and_started_again_by_the_watchdog(host: Host) -> None:
    host.machine.must(
        "mkdir -p /etc/systemd/system/clock-agent.service.d\n"
        "printf '[Service]\\nWatchdogSec=2s\\nRestartSec=100ms\\nTimeoutAbortSec=1s\\n'"
        " >/etc/systemd/system/clock-agent.service.d/fast.conf"
    )
    host.install(host.new)
    before = host.shown("MainPID")["MainPID"]

    host.machine.must(f"kill -STOP {before}")

    wait_for(
        lambda: host.shown("NRestarts")["NRestarts"] == "1" and host.state == "active enabled",
        timeout=30,
        what="another start",
    )
    assert host.shown("MainPID")["MainPID"] != before
    assert "Watchdog timeout" in host.machine.must("journalctl -u clock-agent -o cat")


def test_an_upgrade_runs_the_new_code_and_keeps_configuration_and_state(host: Host) -> None:
    host.install(host.old)
    assert OLD_VERSION in host.machine.must("clock-agent --version")
    host.machine.must(f"echo 'interval: 7m' >>{CONFIG}; touch /var/lib/clock-agent/mark")
    before = host.shown("MainPID")["MainPID"]

    host.install(host.new)

    assert OLD_VERSION not in host.machine.must("clock-agent --version")
    assert host.state == "active enabled"
    assert host.shown("MainPID")["MainPID"] != before
    assert "\ninterval: 7m\n" in host.machine.must("clock-agent config show")
    assert host.machine.must(f"tail -1 {CONFIG}; ls /var/lib/clock-agent/mark").split() == [
        "interval:",
        "7m",
        "/var/lib/clock-agent/mark",
    ]
    host.install(host.old)
    assert OLD_VERSION in host.machine.must("clock-agent --version")
    assert host.state == "active enabled"


@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ("systemctl stop clock-agent", "inactive enabled"),
        ("systemctl disable --now clock-agent", "inactive disabled"),
        ("systemctl disable clock-agent", "active disabled"),
        ("systemctl mask --now clock-agent", "inactive masked"),
    ],
)
def test_an_upgrade_keeps_what_the_administrator_chose(host: Host, choice: str, after: str) -> None:
    host.install(host.old)
    host.machine.must(choice)
    host.install(host.new)
    assert host.state == after


def test_the_owner_and_mode_the_administrator_gave_the_file_are_kept(host: Host) -> None:
    host.install(host.old)
    host.machine.must(f"chgrp adm {CONFIG}; chmod 0644 {CONFIG}")
    host.install(host.new)
    assert host.machine.must(f"stat -c '%G %a' {CONFIG}") == "adm 644\n"


def test_a_policy_that_forbids_starting_is_honoured(host: Host) -> None:
    host.machine.must(
        "printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d"
    )
    host.install(host.new)
    assert host.state == "inactive enabled"


def test_removal_keeps_configuration_and_state_and_a_new_installation_finds_them(
    host: Host,
) -> None:
    host.install(host.new)
    host.machine.must(f"echo 'interval: 7m' >>{CONFIG}; touch /var/lib/clock-agent/mark")

    host.machine.must("apt-get remove -qq -y clock-agent", timeout=60)

    assert host.machine.shell("systemctl is-active clock-agent").stdout == "inactive\n"
    assert host.machine.shell("ls /run/clock-agent /usr/lib/clock-agent").status != 0
    host.install(host.new)
    assert host.state == "active enabled"
    assert "7m" in host.machine.must(f"cat {CONFIG}; ls /var/lib/clock-agent/mark")


def test_a_purge_takes_everything_but_the_user(host: Host) -> None:
    host.install(host.new)
    host.machine.must("apt-get purge -qq -y clock-agent", timeout=60)
    left = host.machine.must(
        "find / -xdev -path /proc -prune -o -path /packages -prune -o -path /var/log -prune"
        " -o -path '*/dpkg/*' -prune -o -name '*clock-agent*' -print"
    )
    assert left == ""
    assert host.machine.run("id", "clock-agent").status == 0


def test_a_python_that_is_too_old_stops_the_installation(built: Built, tmp_path: Path) -> None:
    depends = subprocess.run(
        ["dpkg-deb", "--field", str(built.deb), "Depends"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "python3 (>= 3.9)" in depends.split(", ")


def test_an_image_that_was_built_with_it_watches_its_clock_from_the_first_boot(
    built: Built, tmp_path: Path
) -> None:
    with dist.root_copy(tmp_path / "root") as root:
        shutil.copy(built.deb, root / "tmp")
        bake = f"{APT} /tmp/{built.deb.name} && rm /tmp/*.deb && apt-get clean"
        done = subprocess.run(
            ["chroot", str(root), "sh", "-c", f"PATH=/usr/sbin:/usr/bin:/sbin:/bin; {bake}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "rror" not in done.stdout + done.stderr
        assert "ailed" not in done.stdout + done.stderr
        booted = Machine(tmp_path / "console.log", root, {})
        try:
            host = Host(booted, built, built)
            wait_for(lambda: host.state == "active enabled", what="the service")
            wait_for(lambda: "CLOCK OK" in host.wait_for_reading(), timeout=60, what="OK")
        finally:
            booted.stop()
