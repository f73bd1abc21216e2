"""The recipes of docs/health-probes.md for jobs that need a good clock, and for images."""

from __future__ import annotations

import re

import pytest

from tests.support.recipes import Node, State, recipes
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

RECIPES = recipes()
JOB = RECIPES["A job that is skipped on a bad clock"]
WORKER = RECIPES["A service that waits for a good clock"]
SCRIPT = RECIPES["A shell script"]
CRON = RECIPES["cron"]
PACKER = RECIPES["Packer"]
IMAGE_BUILD = RECIPES["Any other image build"]

UNIT = "[Service]\nType={kind}\nUser=app\nExecStart={program}\n"
START = "systemctl daemon-reload; systemctl start payout"
#: The image that Packer makes is, for once, this very machine.
PACKER_FILE = """
source "null" "image" {
  ssh_host             = "127.0.0.1"
  ssh_username         = "baker"
  ssh_private_key_file = "/root/key"
}

build {
  sources = ["source.null.image"]
%s
}
"""
SSH = """
mkdir -p /home/baker/.ssh
[ -e /root/key ] || ssh-keygen -q -t ed25519 -N '' -f /root/key
cp /root/key.pub /home/baker/.ssh/authorized_keys
chown -R baker /home/baker/.ssh; chmod 700 /home/baker/.ssh
systemctl start ssh
"""


@pytest.fixture
def payout(node: Node) -> Node:
    """The node, with a unit for the job."""
    program = "/usr/local/bin/payout"
    unit = UNIT.format(kind="oneshot", program=program)
    node.write("/etc/systemd/system/payout.service", unit)
    return node


def test_a_job_of_systemd_runs_on_a_good_clock_and_is_skipped_on_a_bad_one(
    payout: Node, state: State
) -> None:
    payout.put(JOB)
    before = payout.runs

    payout.machine.must(START)

    assert payout.runs - before == (0 if state.fails else 1)
    shown = payout.machine.must("systemctl show payout -p ActiveState,Result")
    assert set(shown.split()) == {"ActiveState=inactive", "Result=success"}
    if state.fails:
        said = payout.machine.must("journalctl -u payout -n 30 -o cat")
        assert re.search(r"^CLOCK (CRITICAL|UNKNOWN) - ", said, re.M)


def test_a_job_of_systemd_is_skipped_without_the_agent_and_may_be_made_to_fail(
    payout: Node,
) -> None:
    payout.be("healthy")
    before = payout.runs
    payout.put(JOB)
    skipped = payout.machine.shell(f"mv /usr/bin/clock-agent /usr/bin/away; {START}")
    payout.put(JOB, JOB.text.replace("ExecCondition=", "ExecStartPre="))
    failed = payout.machine.shell(START)
    payout.machine.must("mv /usr/bin/away /usr/bin/clock-agent; systemctl reset-failed payout")

    assert skipped.status == 0
    assert failed.status != 0
    assert payout.runs == before


def test_a_service_of_systemd_waits_for_a_good_clock(node: Node) -> None:
    node.be("critical")
    unit = UNIT.format(kind="simple", program="/bin/sleep infinity")
    node.write("/etc/systemd/system/worker.service", unit)
    node.put(WORKER, WORKER.text.replace("RestartSec=30s", "RestartSec=3s"))
    node.machine.must("systemctl daemon-reload; systemctl start --no-block worker")

    def shown(name: str) -> str:
        return node.machine.must(f"systemctl show worker -p {name} --value").strip()

    wait_for(lambda: int(shown("NRestarts")) > 1, timeout=30.0, every=0.2)
    assert shown("ActiveState") == "activating"
    node.be("healthy")
    wait_for(lambda: shown("ActiveState") == "active", timeout=10.0, every=0.2)
    node.machine.must("systemctl stop worker")


def test_a_shell_script_goes_on_only_on_a_good_clock(node: Node, state: State) -> None:
    done = node.machine.shell(SCRIPT.text + "echo went on")
    assert (done.status, done.stdout) == ((75, "") if state.fails else (0, "went on\n"))
    assert done.stderr.startswith("CLOCK ")


@pytest.mark.parametrize("name", ["healthy", "critical"])
def test_cron_runs_the_job_or_mails_why_not(node: Node, name: str) -> None:
    fails = node.be(name).fails
    before = node.runs
    node.put(CRON)
    node.machine.must("rm -f /var/mail/app; systemctl start cron")

    def mail() -> str:
        return node.machine.shell("cat /var/mail/app").stdout

    wait_for(lambda: node.runs > before or mail(), timeout=90.0, every=0.5, what="cron")
    node.machine.must("systemctl stop cron; rm /etc/cron.d/payout")

    assert (node.runs > before) is not fails
    assert ("payout did not run: CLOCK CRITICAL - " in mail()) is fails


@pytest.mark.parametrize(
    ("damage", "mend", "status"),
    [
        ("true", "true", 0),
        ("systemctl mask --force chronyd.service", "rm /etc/systemd/system/chronyd.service", 1),
        ("systemctl mask chrony.service", "systemctl unmask chrony.service", 2),
    ],
)
def test_a_bad_image_fails_its_build_and_a_doubtful_one_does_not(
    node: Node, damage: str, mend: str, status: int
) -> None:
    node.be("healthy")
    node.write("/root/image.pkr.hcl", PACKER_FILE % PACKER.text)
    node.machine.must(f"{SSH}\n{damage}")
    found = node.machine.shell("clock-agent doctor --root /")
    packer = node.machine.shell(
        "CHECKPOINT_DISABLE=1 packer build -color=false /root/image.pkr.hcl", timeout=60
    )
    script = node.machine.shell(
        "set -e; image=/srv/root; mkdir -p $image; mount --bind / $image\n"
        f"{IMAGE_BUILD.text}echo went on"
    )
    node.machine.must(f"umount /srv/root; {mend}; systemctl enable chrony.service")

    assert found.status == status, found.stdout
    assert (packer.status == 0) is (status < 2), packer.stdout
    assert ("went on" in script.stdout) is (status < 2), script.stdout
    assert ("CRITICAL service masked" in packer.stdout) is (status == 2)
