"""Owns the two written forms of an alert that sinks share: a JSON document and one line."""

from __future__ import annotations

from typing import Any, Dict

from agent.core import wording
from agent.core.model import Alert

SCHEMA = 1
_LONGEST_LINE = 2000


def document(alert: Alert) -> Dict[str, Any]:  # Any: what JSON can carry
    """The alert as JSON-ready values. Keys are never removed within a schema."""
    fields = alert._asdict()
    fields["evidence"] = list(alert.evidence)
    fields["advice"] = list(alert.advice)
    fields["tags"] = dict(alert.tags)
    return {"schema": SCHEMA, **fields}


def one_line(alert: Alert) -> str:
    """The alert for a log or a chat: what happened where, what to do about it, what was seen."""
    text = f"{alert.severity.upper()} {alert.kind} {alert.condition} on {alert.host}:"
    text += f" {alert.summary}"
    if alert.advice and alert.kind != "resolve":
        text += f" - to do: {'; '.join(alert.advice)}"
    return wording.plain(text, _LONGEST_LINE) + f" [{wording.plain(alert.key)}]"
