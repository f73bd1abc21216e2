"""The webhook: what arrives, how it proves where it is from, and what is kept secret."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path
from typing import Any, Dict

import pytest

from agent import sinks
from agent.core.model import Delivery
from agent.core.settings import AlertSettings
from tests.support.receiver import Answer, Receiver, receiver
from tests.support.samples import AN_ALERT

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "alerts.md"


def told(there: Receiver, path: str = "", **options: Any) -> Delivery:
    options["url"] = there.url + path
    settings = AlertSettings(type="webhook", name="hook", options=options)
    return sinks.make(settings).send(AN_ALERT, 5.0)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("s3cret\n")
    return str(path)


def test_the_alert_arrives_as_json_with_a_text_for_chats() -> None:
    with receiver() as there:
        assert told(there, "/hook") == Delivery(delivered=True)
    (request,) = there.requests
    assert request.path == "/hook"
    assert request.document["key"] == "clock-agent/web-1/offset"
    assert request.document["advice"] == ["stop the workers", "chronyc makestep"]
    assert request.document["text"].startswith("CRITICAL raise offset on web-1")
    assert request.headers["idempotency-key"] == AN_ALERT.id
    assert "authorization" not in request.headers
    assert "x-clock-agent-signature" not in request.headers


def test_headers_and_token_are_sent(secret: str) -> None:
    with receiver() as there:
        assert told(there, headers={"X-Team": "time"}, token_file=secret).delivered
    assert there.requests[0].headers["x-team"] == "time"
    assert there.requests[0].headers["authorization"] == "Bearer s3cret"


def test_the_signature_is_the_hmac_of_the_body(secret: str) -> None:
    with receiver() as there:
        assert told(there, secret_file=secret).delivered
    (request,) = there.requests
    expected = hmac.new(b"s3cret", request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-clock-agent-signature"] == f"sha256={expected}"


def test_a_receiver_can_check_the_signature_as_the_manual_says(secret: str) -> None:
    (recipe,) = re.findall(r"```python\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    names: Dict[str, Any] = {}
    exec(recipe, names)
    with receiver() as there:
        assert told(there, secret_file=secret).delivered
    (request,) = there.requests
    signature = request.headers["x-clock-agent-signature"]
    assert names["is_genuine"](b"s3cret", request.body, signature)
    assert not names["is_genuine"](b"s3cret", request.body + b" ", signature)
    assert not names["is_genuine"](b"another", request.body, signature)


def test_the_manual_names_every_field_of_the_document() -> None:
    table = MANUAL.read_text().partition("| field of the JSON |")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    with receiver() as there:
        assert told(there).delivered
    assert sorted(named) == sorted(there.requests[0].document)


def test_no_secret_is_repeated_when_the_receiver_echoes_it(secret: str) -> None:
    echo = Answer(403, body=b"Bearer s3cret, team top-secret, at /T1/B2/hidden")
    with receiver(echo) as there:
        delivery = told(there, "/T1/B2/hidden", token_file=secret, headers={"X-Team": "top-secret"})
    assert delivery.what == f"{there.url} answered 403: Bearer ***, team ***, at ***"


def test_a_secret_that_cannot_be_read_is_tried_again_later(tmp_path: Path) -> None:
    with receiver() as there:
        delivery = told(there, token_file=str(tmp_path / "none"))
    assert delivery[:2] == (False, True)
    assert delivery.what == f"{tmp_path}/none: No such file or directory"
    assert not there.requests
