"""A program as a way of telling: what it is given, and every way it can fail."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from agent import sinks
from agent.core.model import Delivery
from agent.core.settings import AlertSettings
from agent.spawn import TERM_GRACE
from tests.support.samples import AN_ALERT
from tests.support.waiting import wait_for

Hook = Callable[..., Delivery]


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    """Tells the alert to a shell script with the given lines."""

    def tell(script: str, *arguments: str, **more: Any) -> Delivery:
        path = tmp_path / "hook"
        path.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        path.chmod(0o755)
        return to(str(path), *arguments, **more)

    return tell


def to(*argv: str, timeout: float = 10.0, alert: Any = AN_ALERT) -> Delivery:
    settings = AlertSettings(type="command", name="hook", options={"argv": argv})
    return sinks.make(settings).send(alert, timeout)


def test_the_program_is_given_the_alert_as_json_on_its_input(hook: Hook, tmp_path: Path) -> None:
    alert = AN_ALERT._replace(summary="5 s behind “quoted” \ud800", tags={"größe": "XL"})
    assert hook("cat > input", alert=alert) == Delivery(delivered=True)
    given = json.loads((tmp_path / "input").read_bytes())
    assert given["schema"] == 1
    assert given["tags"] == {"größe": "XL"}
    assert given["summary"].startswith("5 s behind “quoted”")


def test_arguments_pass_unchanged_and_through_no_shell(hook: Hook, tmp_path: Path) -> None:
    assert hook('printf "%s|" "$@" > arguments', "$HOME", "a b", "", "; rm x").delivered
    assert (tmp_path / "arguments").read_text() == "$HOME|a b||; rm x|"


def test_the_environment_is_only_what_is_documented(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REDIS_PASSWORD", "WEBHOOK_TOKEN", "NOTIFY_SOCKET", "WATCHDOG_USEC"):
        monkeypatch.setenv(name, "secret")
    assert hook("/usr/bin/env > environment").delivered
    lines = (tmp_path / "environment").read_text().splitlines()
    found: Dict[str, str] = dict(line.split("=", 1) for line in lines)
    shells_own = {"PWD", "OLDPWD", "SHLVL", "_"}
    names = {name for name in found if not name.startswith("CLOCK_AGENT_")} - shells_own
    assert names == {"PATH", "LANG", "LC_ALL"}
    assert found["CLOCK_AGENT_KEY"] == "clock-agent/web-1/offset"
    assert found["CLOCK_AGENT_SEVERITY"] == "critical"
    assert found["CLOCK_AGENT_LASTED"] == "660"
    assert "secret" not in "".join(lines)


def test_text_from_outside_cannot_make_variables_of_its_own(hook: Hook, tmp_path: Path) -> None:
    alert = AN_ALERT._replace(summary="x\nLD_PRELOAD=/tmp/x.so\0y", reference_time=None)
    assert hook("/usr/bin/env > environment", alert=alert).delivered
    lines = (tmp_path / "environment").read_text().splitlines()
    assert not [line for line in lines if line.startswith("LD_PRELOAD")]
    assert "CLOCK_AGENT_REFERENCE_TIME=" in lines


def test_no_file_of_the_daemon_is_open_in_the_program(hook: Hook, tmp_path: Path) -> None:
    leaked = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leaked, True)  # as if the daemon had been started with it
    try:
        assert hook("exec > files; exec ls -l /proc/self/fd").delivered
    finally:
        os.close(leaked)
    lines = (tmp_path / "files").read_text().splitlines()[1:]
    own = [line for line in lines if "/proc/" not in line]  # not the directory it lists
    assert [line.split()[-3] for line in own] == ["0", "1", "2"]


def test_it_has_a_process_group_of_its_own(hook: Hook, tmp_path: Path) -> None:
    assert hook("cut -d' ' -f5 /proc/$$/stat > group; echo $$ > pid").delivered
    group = int((tmp_path / "group").read_text())
    assert group == int((tmp_path / "pid").read_text()) != os.getpgrp()


@pytest.mark.parametrize(
    "script",
    ["sleep 3600", "trap '' TERM; while :; do sleep 1; done", "sleep 3600 & wait"],
    ids=["sleeps", "ignores TERM", "has a child"],
)
def test_a_program_that_hangs_is_ended_with_its_children(
    hook: Hook, tmp_path: Path, script: str
) -> None:
    started = time.monotonic()
    delivery = hook(f"echo $$ > pid; {script}", timeout=1.0)
    assert time.monotonic() - started <= 1.0 + 1.0
    assert not delivery.delivered
    assert delivery.retryable
    assert "did not end within 1 s" in delivery.what
    group = int((tmp_path / "pid").read_text())

    def nobody_left() -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(nobody_left, what="the whole group to be gone")


def test_a_grandchild_that_holds_the_output_does_not_hold_us(hook: Hook) -> None:
    started = time.monotonic()
    hook("sleep 3600 & exit 0", timeout=1.0)
    assert time.monotonic() - started <= 2.0


def test_a_flood_of_output_ends_it(hook: Hook) -> None:
    delivery = hook("exec cat /dev/zero", timeout=10.0)
    assert not delivery.delivered
    assert "printed more than" in delivery.what


def test_a_program_that_reads_nothing_has_succeeded_all_the_same(hook: Hook) -> None:
    large = AN_ALERT._replace(evidence=("x" * 200_000,))
    assert hook("exit 0", alert=large).delivered


def test_a_failure_is_tried_again_and_says_what_it_printed(hook: Hook) -> None:
    delivery = hook("echo 'no route\033[31m' >&2; exit 7")
    assert not delivery.delivered
    assert delivery.retryable
    assert delivery.what.endswith(r"hook exited with 7: no route\x1b[31m")


def test_a_program_that_kills_itself_names_the_signal(hook: Hook) -> None:
    assert "ended by signal 9" in hook("kill -9 $$").what


def test_what_cannot_be_started_is_not_tried_again(tmp_path: Path) -> None:
    plain_file = tmp_path / "plain"
    plain_file.write_text("#!/bin/sh\n")
    for path in (str(tmp_path / "none"), str(plain_file), str(tmp_path)):
        delivery = to(path)
        assert not delivery.delivered
        assert not delivery.retryable
        assert path in delivery.what


def test_even_a_short_time_is_some_time() -> None:
    assert to("/bin/true", timeout=TERM_GRACE).delivered
