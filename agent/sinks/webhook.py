"""Owns telling a webhook: the alert's JSON document by POST, signed when there is a key."""

from __future__ import annotations

import json
from typing import Optional

from agent.core.http_answer import delivery
from agent.core.messages import document, one_line
from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings
from agent.http_post import LookUp
from agent.http_receiver import Receiver
from agent.resolve import resolve

#: The same for every attempt at one message: receivers drop repeats by it.
IDENTITY = "Idempotency-Key"


class WebhookSink:
    """Sends the documented JSON, with one more key ``text`` that chat services show.

    With ``secret_file`` the header X-Clock-Agent-Signature is ``sha256=`` and the HMAC-SHA256 of
    the body in hexadecimal digits.
    """

    repeat_every: Optional[float] = None

    def __init__(self, settings: AlertSettings, look_up: LookUp = resolve) -> None:
        self.name = settings.name
        self._receiver = Receiver(settings.options, look_up)

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """POST it; delivered when the answer is 2xx."""
        body = json.dumps({"text": one_line(alert), **document(alert)}).encode("ascii")
        return delivery(self._receiver.post(body, timeout, headers={IDENTITY: alert.id}))
