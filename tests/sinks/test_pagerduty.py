"""PagerDuty: events as its documentation wants them, against an endpoint that checks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict

import pytest

from agent import sinks
from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings
from tests.support.receiver import Answer, Receiver, receiver
from tests.support.samples import AN_ALERT

KEY = "R0123456789ABCDEFGHIJKLMNOPQRSTU"
ACCEPTED = Answer(202, body=b'{"status":"success","message":"Event processed"}')


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    path = tmp_path / "pagerduty.key"
    path.write_text(KEY + "\n")
    return str(path)


def told(there: Receiver, key_file: str, alert: Alert = AN_ALERT) -> Delivery:
    options = {"url": f"{there.url}/v2/enqueue", "routing_key_file": key_file}
    settings = AlertSettings(type="pagerduty", name="pager", options=options)
    return sinks.make(settings).send(alert, 5.0)


def event(key_file: str, alert: Alert) -> Dict[str, Any]:
    """The event that arrives, checked against the documented schema."""
    with receiver(ACCEPTED) as there:
        assert told(there, key_file, alert) == Delivery(delivered=True)
    found = there.requests[0].document
    assert there.requests[0].path == "/v2/enqueue"
    assert len(found["routing_key"]) == 32
    assert found["event_action"] in ("trigger", "acknowledge", "resolve")
    assert 0 < len(found["dedup_key"]) <= 255
    if found["event_action"] == "trigger":
        payload = found["payload"]
        assert 0 < len(payload["summary"]) <= 1024
        assert payload["source"]
        assert payload["severity"] in ("critical", "error", "warning", "info")
        assert re.fullmatch(r"[0-9-]{10}T[0-9:.]+Z", payload.get("timestamp", "2026-01-01T0Z"))
        optional = {"timestamp", "component", "group", "class", "custom_details"}
        assert set(payload) <= {"summary", "source", "severity"} | optional
    return found


@pytest.mark.parametrize("kind", ["raise", "escalate", "remind"])
def test_trouble_triggers_under_the_key_of_its_condition(key_file: str, kind: str) -> None:
    found = event(key_file, AN_ALERT._replace(kind=kind))
    assert found["event_action"] == "trigger"
    assert found["dedup_key"] == AN_ALERT.key
    assert found["payload"]["custom_details"]["advice"] == list(AN_ALERT.advice)


def test_its_end_resolves_under_the_same_key(key_file: str) -> None:
    found = event(key_file, AN_ALERT._replace(kind="resolve"))
    assert found["event_action"] == "resolve"
    assert found["dedup_key"] == AN_ALERT.key


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("critical", "critical"), ("warning", "warning"), ("unknown", "warning")],
)
def test_severities_are_translated(key_file: str, ours: str, theirs: str) -> None:
    found = event(key_file, AN_ALERT._replace(severity=ours))
    assert found["payload"]["severity"] == theirs


def test_the_time_is_the_references_or_none_at_all(key_file: str) -> None:
    assert event(key_file, AN_ALERT)["payload"]["timestamp"] == AN_ALERT.reference_time
    unknown = event(key_file, AN_ALERT._replace(reference_time=None))
    assert "timestamp" not in unknown["payload"]


def test_long_texts_are_cut_to_what_is_accepted(key_file: str) -> None:
    event(key_file, AN_ALERT._replace(summary="x" * 5000, key="k" * 500))


def test_a_wrong_key_is_final_and_not_repeated(key_file: str) -> None:
    answer = f'{{"status":"invalid event","errors":["{KEY} is unknown"]}}'.encode()
    with receiver(Answer(400, body=answer)) as there:
        delivery = told(there, key_file)
    assert delivery[:2] == (False, False)
    assert "invalid event" in delivery.what
    assert KEY not in delivery.what


def test_too_many_events_are_sent_later(key_file: str) -> None:
    with receiver(Answer(429, {"Retry-After": "30"}), ACCEPTED) as there:
        first, second = told(there, key_file), told(there, key_file)
    assert (first.retryable, first.retry_after) == (True, 30)
    assert second.delivered


def test_a_missing_key_is_tried_again_later(tmp_path: Path) -> None:
    with receiver(ACCEPTED) as there:
        delivery = told(there, str(tmp_path / "none"))
    assert delivery[:2] == (False, True)
    assert not there.requests
