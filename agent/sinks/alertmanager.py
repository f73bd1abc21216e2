"""Owns telling Prometheus Alertmanager (API v2), which forgets what it is not told again.

An alert lasts there until its ``endsAt``, by Alertmanager's clock. Ours is the suspect one, so all
times are reckoned from the Date of its own answer: each message begins with posting an empty list,
which it accepts and dates.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

from agent import clock
from agent.core import wording
from agent.core.http_answer import delivery, is_success
from agent.core.messages import document
from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings
from agent.http_post import LookUp
from agent.http_receiver import Receiver
from agent.resolve import resolve

PATH = "/api/v2/alerts"
#: Seconds after which a firing alert is sent again: a restarted Alertmanager knows nothing.
REPEAT_EVERY = 180.0
#: Seconds until it resolves by itself when we are heard of no more: ten repeats may be lost.
HOLD = 1800.0
#: Levels in the label ``severity``, which is part of an alert's identity there.
_SEVERITIES = ("unknown", "warning", "critical")


class AlertmanagerSink:
    """Keeps an alert firing until it resolves. Used by one thread."""

    repeat_every: Optional[float] = REPEAT_EVERY

    def __init__(self, settings: AlertSettings, look_up: LookUp = resolve) -> None:
        self.name = settings.name
        self._receiver = Receiver(settings.options, look_up)
        #: key -> the severity it was last sent firing with, by this process.
        self._firing: Dict[str, str] = {}

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """Post it; delivered when the answer is 2xx."""
        deadline = clock.monotonic() + timeout
        dated = self._receiver.post(b"[]", timeout, path=PATH)
        if isinstance(dated, str) or not is_success(dated.status):
            return delivery(dated)
        now = clock.wall() if dated.date is None else dated.date
        body = json.dumps(self._alerts(alert, now)).encode("ascii")
        done = delivery(self._receiver.post(body, deadline - clock.monotonic(), path=PATH))
        if done.delivered and alert.kind == "resolve":
            self._firing.pop(alert.key, None)
        elif done.delivered:
            self._firing[alert.key] = alert.severity
        return done

    def _alerts(self, alert: Alert, now: float) -> List[Dict[str, Any]]:
        """The alert, and the end of what it takes the place of."""
        starts = now - max(0.0, alert.lasted)
        ends = now if alert.kind == "resolve" else now + HOLD
        return [
            _described(alert, alert.severity, starts, ends),
            *(_described(alert, before, starts, now) for before in self._replaced(alert)),
        ]

    def _replaced(self, alert: Alert) -> List[str]:
        """Severities under which the alert may be firing there and should not any more."""
        if alert.key in self._firing:
            return [s for s in (self._firing[alert.key],) if s != alert.severity]
        if alert.kind == "escalate":  # what was sent before a restart is not remembered
            return list(_SEVERITIES[: _SEVERITIES.index(alert.severity)])
        return []


def _described(alert: Alert, severity: str, starts: float, ends: float) -> Dict[str, Any]:
    told = document(alert)
    labels = {_label(key): value for key, value in alert.tags.items()}
    labels.update(
        alertname=f"Clock{alert.condition.title()}",
        job="clock-agent",
        instance=alert.host,
        condition=alert.condition,
        severity=severity,
    )
    annotations = {
        "summary": alert.summary,
        "description": "\n".join(alert.evidence),
        "advice": "\n".join(alert.advice),
        **{name: str(told[name] or "") for name in ("id", "cause", "local_time", "reference_time")},
    }
    return {
        "labels": labels,
        "annotations": annotations,
        "startsAt": wording.utc(starts),
        "endsAt": wording.utc(ends),
    }


def _label(key: str) -> str:
    """A label's name as Prometheus wants it; names of ours are not taken by a tag."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in key)
    return f"_{name}" if name[:1].isdigit() or not name else name
