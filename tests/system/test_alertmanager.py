"""Alerts in a real Prometheus Alertmanager, read back through its API."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any, Dict, Iterator, List, NamedTuple

import pytest

from agent import sinks
from agent.core.settings import AlertSettings
from tests.support import needs
from tests.support.ports import free_port
from tests.support.processes import running
from tests.support.receiver import Receiver, receiver
from tests.support.samples import AN_ALERT
from tests.support.waiting import wait_for

#: Seconds after which this Alertmanager gives up an alert that says nothing of its end.
RESOLVE_TIMEOUT = 1


class Alertmanager(NamedTuple):
    """A running one, and the webhook it notifies."""

    url: str
    notified: Receiver

    def firing(self) -> List[Dict[str, Any]]:
        """The alerts it holds to be active."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?active=true") as answer:
            found: List[Dict[str, Any]] = json.load(answer)
        return found

    def severities(self) -> List[str]:
        """The severities of the active alerts."""
        return sorted(alert["labels"]["severity"] for alert in self.firing())

    def notifications(self, status: str) -> List[Dict[str, Any]]:
        """Alerts it told its webhook to be ``firing`` or ``resolved``."""
        told = [request.document for request in self.notified.requests]
        return [alert for each in told for alert in each["alerts"] if alert["status"] == status]


@pytest.fixture
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    program = needs.program("prometheus-alertmanager")
    directory = tmp_path_factory.mktemp("alertmanager")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with receiver() as notified:
        config = {
            "global": {"resolve_timeout": f"{RESOLVE_TIMEOUT}s"},
            "route": {
                "receiver": "hook",
                "group_by": ["..."],
                "group_wait": "0s",
                "group_interval": "1s",
            },
            "receivers": [
                {
                    "name": "hook",
                    "webhook_configs": [{"url": notified.url, "send_resolved": True}],
                }
            ],
        }
        (directory / "config.yml").write_text(json.dumps(config))  # JSON is YAML, too
        argv = [
            program,
            f"--config.file={directory}/config.yml",
            f"--storage.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]
        with running(argv, lambda: urllib.request.urlopen(f"{url}/-/ready").status == 200):
            yield Alertmanager(url, notified)


@pytest.fixture
def sink(alertmanager: Alertmanager) -> sinks.Sink:
    options = {"url": alertmanager.url}
    return sinks.make(AlertSettings(type="alertmanager", name="am", options=options))


def test_an_alert_appears_outlasts_the_resolve_timeout_and_resolves(
    alertmanager: Alertmanager, sink: sinks.Sink
) -> None:
    assert sink.send(AN_ALERT, 5.0).delivered
    (alert,) = wait_for(alertmanager.firing, what="the alert in the API")
    assert alert["labels"]["alertname"] == "ClockOffset"
    assert alert["labels"]["instance"] == "web-1"
    wait_for(lambda: alertmanager.notifications("firing"), what="the webhook to hear of it")

    deadline = time.monotonic() + 3 * RESOLVE_TIMEOUT

    def still_firing_at_the_deadline() -> bool:
        assert alertmanager.severities() == ["critical"]
        return time.monotonic() >= deadline

    wait_for(still_firing_at_the_deadline, every=0.1)
    assert sink.send(AN_ALERT, 5.0).delivered  # as delivery does while it lasts
    (again,) = alertmanager.firing()
    assert again["startsAt"] == alert["startsAt"]
    assert again["fingerprint"] == alert["fingerprint"]

    assert sink.send(AN_ALERT._replace(kind="resolve", lasted=900.0), 5.0).delivered
    wait_for(lambda: not alertmanager.firing(), what="the alert to be gone")
    (resolved,) = wait_for(lambda: alertmanager.notifications("resolved"))
    assert resolved["labels"]["severity"] == "critical"


def test_a_local_clock_that_is_hours_off_changes_nothing(
    alertmanager: Alertmanager, sink: sinks.Sink
) -> None:
    wrong = AN_ALERT._replace(
        local_time="2001-01-01T00:00:00.000Z", reference_time="2099-01-01T00:00:00.000Z"
    )
    assert sink.send(wrong, 5.0).delivered
    wait_for(alertmanager.firing, what="the alert in the API")
    assert sink.send(wrong._replace(kind="resolve"), 5.0).delivered
    wait_for(lambda: not alertmanager.firing(), what="the alert to be gone")


def test_an_escalation_leaves_one_alert(alertmanager: Alertmanager, sink: sinks.Sink) -> None:
    assert sink.send(AN_ALERT._replace(severity="warning"), 5.0).delivered
    wait_for(lambda: alertmanager.severities() == ["warning"], what="the warning")
    assert sink.send(AN_ALERT._replace(kind="escalate"), 5.0).delivered
    wait_for(lambda: alertmanager.severities() == ["critical"], what="the critical alert alone")
    assert sink.send(AN_ALERT._replace(kind="resolve"), 5.0).delivered
    wait_for(lambda: not alertmanager.firing(), what="the alert to be gone")
