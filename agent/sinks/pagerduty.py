"""Owns telling PagerDuty (Events API v2): trigger and resolve under one key per condition."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional

from agent.core.http_answer import delivery
from agent.core.messages import document
from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings
from agent.http_post import LookUp
from agent.http_receiver import Receiver
from agent.resolve import resolve
from agent.secret_file import read_secret

#: Ours -> theirs. Not being able to tell is not yet proof that something is broken.
SEVERITIES: Mapping[str, str] = {"critical": "critical", "warning": "warning", "unknown": "warning"}
#: Longest texts the API takes.
_LONGEST_SUMMARY = 1024
_LONGEST_KEY = 255


class PagerdutySink:
    """Opens an incident with raise, adds to it with escalate and remind, closes it with resolve."""

    repeat_every: Optional[float] = None

    def __init__(self, settings: AlertSettings, look_up: LookUp = resolve) -> None:
        self.name = settings.name
        self._key_file: str = settings.options["routing_key_file"]
        self._receiver = Receiver(settings.options, look_up)

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """Send one event; delivered when it was accepted (202)."""
        try:
            key = read_secret(self._key_file)
        except OSError as error:
            what = f"{error.filename}: {error.strerror}"
            return Delivery(delivered=False, retryable=True, what=what)
        body = json.dumps(_event(alert, key)).encode("ascii")
        return delivery(self._receiver.post(body, timeout, secrets=(key,)))


def _event(alert: Alert, routing_key: str) -> Dict[str, Any]:  # Any: what JSON can carry
    event: Dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if alert.kind == "resolve" else "trigger",
        "dedup_key": alert.key[:_LONGEST_KEY],
    }
    if alert.kind == "resolve":
        return event
    payload: Dict[str, Any] = {
        "summary": f"{alert.host}: {alert.summary}"[:_LONGEST_SUMMARY],
        "source": alert.host,
        "severity": SEVERITIES.get(alert.severity, "error"),
        "component": "clock",
        "class": alert.condition,
        "custom_details": document(alert),
    }
    if alert.reference_time:  # the local time may be what is wrong
        payload["timestamp"] = alert.reference_time
    return {**event, "client": "clock-agent", "payload": payload}
