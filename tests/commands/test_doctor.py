"""Owns the tests of ``clock-agent doctor``, on images made by hand and with programs of our own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from agent.commands import doctor
from agent.errors import UsageError
from tests.support.command import clock_agent, configuration
from tests.support.fakes import executable
from tests.support.nobody import as_nobody
from tests.support.trees import WANTS, Image, debian, red_hat

UNKNOWN = 3


def findings(*arguments: str) -> List[Dict[str, Any]]:
    """What doctor says, with its exit status checked against the worst finding."""
    answer = clock_agent("--config", "/dev/null", *arguments, "--json")
    document = json.loads(answer.stdout)
    assert document["exit_code"] == answer.status
    found: List[Dict[str, Any]] = document["findings"]
    return found


def test_a_healthy_image_passes_with_status_zero(tmp_path: Path) -> None:
    red_hat(tmp_path)
    answer = clock_agent("doctor", "--root", str(tmp_path))
    assert answer.status == 0, answer.stdout
    assert answer.stdout.startswith(f"{tmp_path}: nothing to mend\n")


def test_a_fault_fails_the_build_and_prints_the_path_and_the_remedy(tmp_path: Path) -> None:
    image = debian(tmp_path)
    image.mask("chrony.service")
    answer = clock_agent("doctor", "--root", str(tmp_path))
    assert answer.status == 2
    lines = answer.stdout.splitlines()
    assert lines[1].startswith("CRITICAL service masked: ")
    assert f"{tmp_path}/etc/systemd/system/chrony.service" in answer.stdout
    assert f"        systemctl --root={tmp_path} unmask chrony.service" in lines


def test_the_worst_comes_first(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.mask("clock-agent.service")
    image.remove(f"{WANTS}/chronyd.service")
    verdicts = [each["verdict"] for each in findings("doctor", "--root", str(tmp_path))]
    assert verdicts[:2] == ["critical", "warning"]
    assert set(verdicts[2:]) == {"ok"}


def test_every_finding_carries_all_keys(tmp_path: Path) -> None:
    red_hat(tmp_path)
    for each in findings("doctor", "--root", str(tmp_path)):
        assert set(each) == {"topic", "cause", "verdict", "seen", "why", "remedy", "where"}


def test_an_image_judged_through_a_link_is_the_one_the_link_leads_to(tmp_path: Path) -> None:
    image = debian(tmp_path / "image")
    image.mask("chrony.service")
    (tmp_path / "link").symlink_to("image")
    (masked,) = [f for f in findings("doctor", "--root", str(tmp_path / "link")) if f["remedy"]][:1]
    assert masked["where"] == [f"{tmp_path}/image/etc/systemd/system/chrony.service"]


def test_a_path_with_a_space_makes_a_remedy_that_works_as_printed(tmp_path: Path) -> None:
    image = debian(tmp_path / "my image")
    image.mask("chrony.service")
    answer = clock_agent("doctor", "--root", str(tmp_path / "my image"))
    assert f"systemctl --root='{tmp_path}/my image' unmask" in answer.stdout


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _: None, "does not exist"),
        (lambda root: root.write_text("x", "utf-8"), "is not a directory"),
        (lambda root: os.mkfifo(root), "is not a directory"),
        (lambda root: root.symlink_to("nowhere"), "is a link that leads nowhere"),
        (lambda root: root.symlink_to("root"), "cannot be read: Too many levels of symbolic links"),
    ],
)
def test_a_root_that_is_no_directory_is_an_error_and_no_verdict(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    root = tmp_path / "root"
    make(root)
    answer = clock_agent("doctor", "--root", str(root))
    assert answer.status == UNKNOWN
    assert answer.stderr == f"clock-agent: --root '{root}' {said}\n"


@pytest.mark.parametrize("below", ["", "image"])
def test_a_root_that_may_not_be_read_is_an_error(private_dir: Path, below: str) -> None:
    red_hat(private_dir / below)

    def judge() -> str:
        try:
            doctor.judge_image(str(private_dir / below))
        except UsageError as error:
            return error.message
        return ""

    assert "cannot be read: Permission denied" in as_nobody(judge)


def test_judging_needs_no_rights_and_what_is_closed_is_unknown(private_dir: Path) -> None:
    private_dir.chmod(0o755)
    red_hat(private_dir)

    def judge() -> str:
        return " ".join(f"{e.cause}={e.verdict.word}" for e in doctor.judge_image(str(private_dir)))

    assert "enabled=ok" in as_nobody(judge)
    (private_dir / "etc/systemd/system").chmod(0o700)
    said = as_nobody(judge)
    assert "no-permission=unknown" in said
    assert "critical" not in said
    assert "warning" not in said


def test_the_root_of_this_machine_can_be_judged_from_its_files() -> None:
    answer = clock_agent("doctor", "--root", "/")
    assert answer.status in (0, 1, 2, UNKNOWN)
    assert "--root=" not in answer.stdout


def test_a_partial_tree_is_a_finding(tmp_path: Path) -> None:
    Image(tmp_path).write("etc/hostname", "x\n")
    (found,) = findings("doctor", "--root", str(tmp_path))
    assert found["cause"] == "no-systemd"


@pytest.fixture
def live(tmp_path: Path) -> Dict[str, Any]:
    """Settings of a host where nothing answers: every program and place is the test's own."""
    executable(tmp_path / "chronyc", "#!/bin/sh\necho '506 Cannot talk to daemon'; exit 1\n")
    executable(tmp_path / "systemctl", "#!/bin/sh\necho nonsense; exit 0\n")
    return {
        "chrony": {"program": str(tmp_path / "chronyc"), "address": str(tmp_path / "none.sock")},
        "service": {"program": str(tmp_path / "systemctl")},
        "statsd": {"address": str(tmp_path / "statsd.sock")},
    }


def doctor_says(tmp_path: Path, settings: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    file = configuration(tmp_path, settings)
    answer = clock_agent("--config", file, "doctor", "--json")
    document = json.loads(answer.stdout)
    assert document["exit_code"] == answer.status
    return {f"{each['topic']} {each['cause']}": each for each in document["findings"]}


def test_on_a_host_each_condition_and_each_reference_has_a_finding(
    tmp_path: Path, live: Dict[str, Any]
) -> None:
    live["references"] = [{"name": "locks", "url": "redis://127.0.0.1:1"}]
    found = doctor_says(tmp_path, live)
    assert found["sync not-running"]["verdict"] == "critical"
    assert found["sync not-running"]["why"]
    assert found["reference locks refused"]["remedy"]


def test_a_statsd_socket_that_nobody_made_is_a_finding(
    tmp_path: Path, live: Dict[str, Any]
) -> None:
    assert doctor_says(tmp_path, live)["statsd unreachable"]["verdict"] == "warning"


def test_a_loopback_port_without_a_listener_is_a_note(tmp_path: Path, live: Dict[str, Any]) -> None:
    live["statsd"] = {"address": "127.0.0.1:9"}
    assert doctor_says(tmp_path, live)["statsd nobody-listens"]["verdict"] == "ok"


def test_a_broken_configuration_is_a_finding_and_the_rest_is_still_looked_at(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("intervall: 5m\n", "utf-8")
    answer = clock_agent("--config", str(file), "doctor")
    assert f"{file}:1" in answer.stdout
    assert "WARNING clock-agent config-invalid" in answer.stdout
    assert " sync " in answer.stdout


def test_systemctl_is_only_asked_and_only_once_at_a_time(
    tmp_path: Path, live: Dict[str, Any]
) -> None:
    """Its other verbs change the host, and D-Bus starts what one only asks about."""
    executable(
        tmp_path / "systemctl",
        f"#!/bin/sh\nmkdir {tmp_path}/busy || echo overlap >>{tmp_path}/asked\n"
        f'echo "$1" >>{tmp_path}/asked; sleep 0.3; rmdir {tmp_path}/busy; exit 1\n',
    )
    doctor_says(tmp_path, live)
    asked = (tmp_path / "asked").read_text("utf-8").split()
    assert asked == ["show"] * len(asked)
    assert asked


def test_prose_in_a_remedy_is_a_comment_and_commands_are_not(
    tmp_path: Path, live: Dict[str, Any]
) -> None:
    for each in doctor_says(tmp_path, live).values():
        for line in each["remedy"]:
            assert (
                line.startswith("#")
                or line.split()[0]
                in {
                    "chronyc",
                    "clock-agent",
                    "grep",
                    "journalctl",
                    "printf",
                    "ps",
                    "redis-cli",
                    "sed",
                    "ss",
                    "sudo",
                    "systemctl",
                }
                or os.path.basename(line.split()[0]) == "systemctl"
            )
