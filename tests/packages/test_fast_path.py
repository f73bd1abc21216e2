"""The packaged ``check``: what a published verdict costs, when it is not believed, in crowds."""

from __future__ import annotations

import re
from typing import Iterator, Set

import pytest

from tests.packages.conftest import Built
from tests.support.dist import packaged_machine
from tests.support.nspawn import Machine
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

STATUS = "/run/clock-agent/status"
#: What the budget forbids, and what any of them would bring along.
FORBIDDEN = {
    "json",
    "re",
    "argparse",
    "yaml",
    "psutil",
    "statsd",
    "subprocess",
    "ssl",
    "typing",
    "os",
}


@pytest.fixture(scope="module")
def machine(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A booted Debian whose packaged daemon says that all is well."""
    log = tmp_path_factory.mktemp("nspawn") / "console.log"
    with packaged_machine(log, built.deb) as booted:
        wait_for(lambda: booted.agent("check").stdout.startswith("CLOCK OK"), timeout=30, what="OK")
        booted.must(f"cp -a {STATUS} /root/good")
        yield booted


@pytest.fixture(autouse=True)
def published(machine: Machine) -> None:
    """The verdict as the daemon published it."""
    machine.must(f"rm -rf {STATUS}; cp -a /root/good {STATUS}")


def imported(machine: Machine, *arguments: str) -> Set[str]:
    """What the interpreter says that it imports for a command."""
    done = machine.run("python3", "-ISBv", "/usr/bin/clock-agent", *arguments)
    return set(re.findall(r"(?m)^import '?([\w.]+)", done.stderr))


def test_a_published_verdict_costs_next_to_no_imports(machine: Machine) -> None:
    for arguments in (["check"], ["check", "--fail-on", "critical"]):
        modules = imported(machine, *arguments)
        assert "agent.published" in modules
        assert not modules & FORBIDDEN
        assert {name for name in modules if name.startswith("agent")} == {
            "agent",
            "agent.cli",
            "agent.published",
        }
    assert "re" in imported(machine, "config", "show")  # the method sees what is there


def test_nothing_that_others_have_installed_gets_in(machine: Machine) -> None:
    """Neither by the environment, nor from the directories of packages, nor from where it runs."""
    bad = "raise SystemExit('this is not ours')"
    machine.must(
        "mkdir -p /srv/bad /usr/local/lib/python3.11/dist-packages\n"
        "for place in /srv/bad /usr/lib/python3/dist-packages"
        " /usr/local/lib/python3.11/dist-packages; do\n"
        f"    for name in yaml psutil statsd agent json; do echo {bad!r} >$place/$name.py; done\n"
        "    echo 'import json' >$place/bad.pth\n"
        "done"
    )
    for words in ("check", "check --live", "config show", "run --help"):
        done = machine.shell(
            f"cd /srv/bad; PYTHONPATH=/srv/bad PYTHONSTARTUP=/srv/bad/json.py"
            f" PYTHONHOME=/srv/bad clock-agent {words}"
        )
        assert (done.status, done.stderr) == (0, ""), done.stdout
    assert machine.shell("find /usr/lib/clock-agent -newer /root/good").stdout == ""


@pytest.mark.parametrize(
    "spoil",
    [
        f"sed -i '1s/ [0-9]* / 1 /2' {STATUS}",
        f"sed -i '1s/[0-9a-f]\\{{8\\}}-/00000000-/' {STATUS}",
        f"truncate -s -3 {STATUS}",
        f"head -c 200000 /dev/zero >>{STATUS}",
        f"chmod 000 {STATUS}",
        f"chown nobody {STATUS}",
        f"chmod 666 {STATUS}",
        f"mv {STATUS} /tmp/s; ln -s /tmp/s {STATUS}",
        f"rm {STATUS}; mkfifo {STATUS}",
        f"rm {STATUS}; mkdir {STATUS}",
        f"rm {STATUS}",
    ],
)
def test_a_verdict_that_cannot_be_believed_is_measured_anew(machine: Machine, spoil: str) -> None:
    user = ["runuser", "-u", "clock-agent", "--"]  # may read the configuration, unlike others
    machine.must(spoil)
    done = machine.run(*user, "clock-agent", "check", timeout=10)
    assert (done.status, done.stdout[:8]) == (0, "CLOCK OK"), done.stdout + done.stderr
    assert done.stdout != machine.must("tail -n +2 /root/good")


CROWD = """
for worker in $(seq 20); do
    (
        end=$(($(date +%s) + 15))
        while [ "$(date +%s)" -lt "$end" ]; do
            clock-agent check {options} >/tmp/said.$worker 2>&1 || cat /tmp/said.$worker
        done
    ) &
done
wait
"""


@pytest.mark.parametrize("options", ["", "--live"])
def test_a_crowd_of_checks_disturbs_nobody(machine: Machine, options: str) -> None:
    machine.must("printf 'interval: 1s\\n' >/etc/clock-agent/config.yaml")
    machine.must("systemctl restart clock-agent; systemctl reset-failed clock-agent")
    count = "cat /proc/net/udp /proc/net/unix | wc -l; ls /run/chrony | wc -l"
    before = machine.must(count)
    pids = "systemctl show clock-agent chrony -p MainPID -p NRestarts"
    pids_before = machine.must(pids)

    said = machine.must(CROWD.format(options=options), timeout=120)

    assert said == ""
    assert machine.must(pids) == pids_before
    assert machine.agent("check").stdout.startswith("CLOCK OK")
    wait_for(
        lambda: all(
            int(now) <= int(then) + 2
            for now, then in zip(machine.must(count).split(), before.split())
        ),
        what="no more sockets than before",
    )
