"""What the daemon tells about itself, and how it is shown later."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import pytest

from agent.core import daemon_view
from agent.core.daemon_view import State, run_of
from agent.core.model import Policy, Standing, Verdict
from agent.core.outbox import SinkHealth
from agent.core.steps import Event

POLICY = Policy(consecutive=3)
STATE = State(
    pid=123,
    version="1.2.3",
    taken_at=1000.0,
    due=1300.0,
    standings=(Standing("offset"),),
    sinks=(SinkHealth("page", 0, 0),),
    trouble=None,
    events=(),
)


def document(state: State, *protects: Dict[str, Any]) -> Dict[str, Any]:
    """A published document, as it comes out of the file."""
    report = {
        "host": "web-1",
        "verdict": "warning",
        "summary": "offset slow",
        "readings": [
            {"source": "chronyd", "offset_ms": None, "uncertainty_ms": None, "cause": "hung"},
            {"source": "locks", "offset_ms": -150.0, "uncertainty_ms": 0.3, "cause": None},
        ],
        "conditions": [{"name": "offset", "verdict": "warning", "summary": "150 ms behind"}],
        "protects": protects,
        "daemon": daemon_view.as_dict(POLICY, state),
    }
    read: Dict[str, Any] = json.loads(json.dumps(report))
    return read


def shown(state: State, boottime: float = 1012.0) -> List[str]:
    return list(daemon_view.lines(document(state), boottime))


@pytest.mark.parametrize(
    ("standing", "run"),
    [
        (Standing("x"), None),
        (Standing("x", ok_run=3), None),
        (Standing("x", warning_run=1), (Verdict.WARNING, 1)),
        (Standing("x", warning_run=2, critical_run=2), (Verdict.CRITICAL, 2)),
        (Standing("x", alerting=Verdict.WARNING, warning_run=3), None),
        (
            Standing("x", alerting=Verdict.WARNING, warning_run=3, critical_run=1),
            (Verdict.CRITICAL, 1),
        ),
        (Standing("x", alerting=Verdict.CRITICAL, warning_run=3, critical_run=1), None),
        (Standing("x", alerting=Verdict.CRITICAL, ok_run=2), (Verdict.OK, 2)),
        (Standing("x", blind_run=2), (Verdict.UNKNOWN, 2)),
        (Standing("x", alerting=Verdict.WARNING, blind_run=2), None),
    ],
)
def test_an_unfinished_run_is_told_with_what_it_leads_to(
    standing: Standing, run: Optional[Tuple[Verdict, int]]
) -> None:
    assert run_of(POLICY, standing) == run


def test_all_is_shown_with_its_age() -> None:
    assert shown(STATE) == [
        "web-1: warning - offset slow",
        "daemon      version 1.2.3, pid 123",
        "readings    12 s ago, the next in 4 min 48 s",
        "  chronyd     none: hung",
        "  locks       -150.0 ms behind (slow), give or take 0.300 ms",
        "conditions",
        "  offset      warning   150 ms behind",
        "alerts",
        "  page        everything delivered",
        "history     on the disk",
    ]


def test_runs_and_standing_alerts_are_shown() -> None:
    standing = Standing(
        "offset", alerting=Verdict.WARNING, critical_run=2, warning_run=3, since=400.0
    )
    line = shown(STATE._replace(standings=(standing,)))[6]
    assert line.endswith(
        "150 ms behind; alerted as warning for 10 min 12 s; 2 of 3 towards critical"
    )


def test_what_is_not_delivered_is_shown_with_the_reason() -> None:
    sinks = (SinkHealth("page", 2, 7, "503 from the receiver"), SinkHealth("log", 0, 0))
    lines = shown(STATE._replace(sinks=sinks))
    assert "  page        2 to be delivered, 7 failed attempts: 503 from the receiver" in lines
    assert "  log         everything delivered" in lines


def test_an_alert_that_was_refused_is_not_called_delivered() -> None:
    lines = shown(STATE._replace(sinks=(SinkHealth("hook", 0, 0, "http://x answered 404"),)))
    refused = "nothing left to deliver, but the last attempt failed: http://x answered 404"
    assert f"  hook        {refused}" in lines


def test_what_is_left_of_a_margin_is_shown() -> None:
    half = {"name": "payouts", "margin_ms": 1.2e6, "used_percent": 50.1, "left_s": 7200.0}
    gone = {"name": "lock", "margin_ms": 5e3, "used_percent": None, "left_s": None}
    lines = list(daemon_view.lines(document(STATE, half, gone), 1012.0))
    assert [line for line in lines if line.startswith("protects")] == [
        "protects    payouts: 50 % of the 20 min margin is used up, all of it in 2 h"
        " at the present drift",
        "protects    lock: all of the 5 s margin is used up",
    ]


def test_trouble_with_the_disk_and_steps_of_the_clock_are_shown() -> None:
    events = (Event("step", 0.0, 950.0, -2.0), Event("suspend", 0.0, 980.0, 3600.0))
    lines = shown(STATE._replace(trouble="the disk is full", events=events))
    assert lines[-3:] == [
        "history     in memory only: the disk is full",
        "clock       the clock was set back by 2 s, noticed 1 min 2 s ago",
        "clock       the host was suspended for 1 h, noticed 32 s ago",
    ]


def test_a_cycle_that_is_due_is_said_to_be_under_way() -> None:
    assert shown(STATE, 1301.0)[2] == "readings    5 min 1 s ago, the next is under way"


def test_without_a_daemon_the_file_tells_what_was_alerted_and_is_owed() -> None:
    standings = (Standing("offset", alerting=Verdict.CRITICAL, since=-200.0), Standing("sync"))
    assert list(daemon_view.remembered(standings, {"page": 2}, 1000.0)) == [
        "  offset      alerted as critical for 20 min",
        "  page        2 to be delivered or to be told again",
    ]
