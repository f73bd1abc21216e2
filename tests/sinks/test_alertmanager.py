"""Alertmanager: whose clock counts, and what a changed severity leaves behind."""

from __future__ import annotations

import calendar
import time
from typing import Any, Dict, Iterator, List

import pytest

from agent import sinks
from agent.core.model import Alert
from agent.core.settings import AlertSettings
from agent.sinks.alertmanager import HOLD, REPEAT_EVERY
from tests.support.receiver import Answer, Receiver, receiver
from tests.support.samples import AN_ALERT

#: Years away from any clock of this host.
THERE = "Mon, 01 Jan 2035 12:00:00 GMT"


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver(Answer(200, {"Date": THERE})) as opened:
        yield opened


def sink_for(there: Receiver, path: str = "") -> sinks.Sink:
    options = {"url": there.url + path}
    return sinks.make(AlertSettings(type="alertmanager", name="am", options=options))


def posted(there: Receiver, sink: sinks.Sink, alert: Alert) -> List[Dict[str, Any]]:
    """What one message brings, after the empty list that asks for the time."""
    del there.requests[:]
    assert sink.send(alert, 5.0).delivered
    question, message = there.requests
    assert question.body == b"[]"
    assert question.path == message.path
    alerts: Any = message.document
    return list(alerts)


def epoch(text: str) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S.000Z"))


def test_all_times_are_by_the_receivers_clock(there: Receiver) -> None:
    (alert,) = posted(there, sink_for(there), AN_ALERT)
    now = calendar.timegm((2035, 1, 1, 12, 0, 0))
    assert epoch(alert["startsAt"]) == now - 660
    assert epoch(alert["endsAt"]) == now + HOLD


def test_it_is_sent_again_long_before_it_expires(there: Receiver) -> None:
    assert sink_for(there).repeat_every == REPEAT_EVERY
    assert REPEAT_EVERY * 3 <= HOLD


def test_labels_and_annotations(there: Receiver) -> None:
    tagged = AN_ALERT._replace(tags={"dc": "eu", "1-st": "x", "severity": "mine", "ü": "y"})
    (alert,) = posted(there, sink_for(there), tagged)
    assert alert["labels"] == {
        "alertname": "ClockOffset",
        "job": "clock-agent",
        "instance": "web-1",
        "condition": "offset",
        "severity": "critical",
        "dc": "eu",
        "_1_st": "x",
        "_": "y",
    }
    assert alert["annotations"]["summary"] == AN_ALERT.summary
    assert alert["annotations"]["advice"] == "stop the workers\nchronyc makestep"
    assert all(isinstance(value, str) for value in alert["annotations"].values())


def test_a_resolve_ends_what_was_firing(there: Receiver) -> None:
    sink = sink_for(there)
    posted(there, sink, AN_ALERT)
    (alert,) = posted(there, sink, AN_ALERT._replace(kind="resolve"))
    assert alert["labels"]["severity"] == "critical"
    assert epoch(alert["endsAt"]) == calendar.timegm((2035, 1, 1, 12, 0, 0))


def test_an_escalation_ends_the_lower_severity_once(there: Receiver) -> None:
    sink = sink_for(there)
    posted(there, sink, AN_ALERT._replace(severity="warning"))
    escalated = AN_ALERT._replace(kind="escalate")
    firing, ended = posted(there, sink, escalated)
    assert firing["labels"]["severity"] == "critical"
    assert ended["labels"]["severity"] == "warning"
    assert ended["endsAt"] < firing["endsAt"]
    (again,) = posted(there, sink, escalated)
    assert again["labels"]["severity"] == "critical"


def test_an_escalation_after_a_restart_ends_whatever_may_be_firing(there: Receiver) -> None:
    _, *ended = posted(there, sink_for(there), AN_ALERT._replace(kind="escalate"))
    assert {alert["labels"]["severity"] for alert in ended} == {"unknown", "warning"}


def test_the_path_of_a_proxy_is_kept(there: Receiver) -> None:
    posted(there, sink_for(there, "/alerts/"), AN_ALERT)
    assert there.requests[0].path == "/alerts/api/v2/alerts"


def test_without_a_date_the_local_clock_has_to_do(there: Receiver) -> None:
    with receiver(Answer(200, {"Date": "never"})) as undated:
        (alert,) = posted(undated, sink_for(undated), AN_ALERT._replace(lasted=0.0))
    started = alert["startsAt"][:19]
    assert abs(calendar.timegm(time.strptime(started, "%Y-%m-%dT%H:%M:%S")) - time.time()) < 60
