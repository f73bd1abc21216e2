"""Ways of telling people; one per file. Owns the table that names them."""

from __future__ import annotations

import importlib
from typing import Mapping, Optional, Protocol

from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings

#: The ``type`` in the configuration -> where its class is; imported on first use.
SINKS: Mapping[str, str] = {
    "log": "agent.sinks.log:LogSink",
    "command": "agent.sinks.command:CommandSink",
    "webhook": "agent.sinks.webhook:WebhookSink",
    "alertmanager": "agent.sinks.alertmanager:AlertmanagerSink",
    "pagerduty": "agent.sinks.pagerduty:PagerdutySink",
}


class Sink(Protocol):
    """One configured way of telling people. Used by one thread at a time."""

    #: The name of its settings; unique in one configuration.
    name: str
    #: Seconds after which an alert that is still firing has to be sent again, because the
    #: receiver forgets it otherwise; None for receivers that do not forget.
    repeat_every: Optional[float]

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """Tell about ``alert`` within ``timeout`` seconds, everything included. Never raises."""


def make(settings: AlertSettings) -> Sink:
    """Return the sink ``settings`` describe. Making one neither waits nor fails."""
    module, _, name = SINKS[settings.type].partition(":")
    sink: Sink = getattr(importlib.import_module(module), name)(settings)
    return sink
