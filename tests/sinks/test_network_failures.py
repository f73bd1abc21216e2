"""Every sink that uses the network against everything a network does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable

import pytest

from agent import sinks
from agent.core.settings import AlertSettings
from tests.support import receiver as receivers
from tests.support.certificates import Authority
from tests.support.ports import free_port
from tests.support.receiver import Answer, behaving, receiver
from tests.support.samples import AN_ALERT

#: Makes the sink under test for a URL.
Make = Callable[..., sinks.Sink]


@pytest.fixture(params=["webhook", "alertmanager", "pagerduty"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    key = tmp_path / "key"
    key.write_text("s3cret\n")

    def make(url: str, **options: Any) -> sinks.Sink:
        options.update(url=url)
        options["routing_key_file" if request.param == "pagerduty" else "token_file"] = str(key)
        return sinks.make(AlertSettings(type=request.param, name="x", options=options))

    return make


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_500_then_200(make: Make) -> None:
    with receiver(Answer(500, body=b"later"), Answer(200)) as there:
        sink = make(there.url)
        first, second = sink.send(AN_ALERT, 5.0), sink.send(AN_ALERT, 5.0)
    assert first[:3] == (False, True, f"{there.url} answered 500: later")
    assert second.delivered


def test_429_with_retry_after(make: Make) -> None:
    with receiver(Answer(429, {"Retry-After": "77"})) as there:
        delivery = make(there.url).send(AN_ALERT, 5.0)
    assert (delivery.delivered, delivery.retryable, delivery.retry_after) == (False, True, 77)


@pytest.mark.parametrize("location", ["http://169.254.169.254/", "file:///etc/shadow", "/again"])
def test_302_goes_nowhere(make: Make, location: str) -> None:
    with receiver(Answer(302, {"Location": location})) as there:
        delivery = make(there.url).send(AN_ALERT, 5.0)
    assert delivery[:2] == (False, False)
    assert len(there.requests) == 1


def test_404_is_final(make: Make) -> None:
    with receiver(Answer(404)) as there:
        assert make(there.url).send(AN_ALERT, 5.0)[:2] == (False, False)


def test_a_refused_connection_is_tried_again(make: Make) -> None:
    delivery = make(f"http://127.0.0.1:{free_port()}").send(AN_ALERT, 5.0)
    assert delivery[:2] == (False, True)
    assert "Connection refused" in delivery.what


@pytest.mark.parametrize("misbehave", [receivers.silent, receivers.dripping, receivers.endless])
def test_the_total_deadline_holds(make: Make, misbehave: receivers.Behaviour) -> None:
    with behaving(misbehave) as port:
        started = time.monotonic()
        delivery = make(f"http://127.0.0.1:{port}").send(AN_ALERT, 0.8)
        assert time.monotonic() - started < 2.0
    if misbehave is not receivers.dripping:  # whose status line said 200 in time
        assert delivery[:2] == (False, True)


@pytest.mark.parametrize(
    ("dates", "says"),
    [
        ({"start": 10, "end": 20}, "not yet valid"),
        ({"start": -20, "end": -10}, "has expired, or this host's clock is ahead"),
        ({"hosts": "DNS:elsewhere.example"}, "for another name"),
    ],
)
def test_a_refused_certificate_is_named_and_tried_again(
    make: Make, authority: Authority, dates: Any, says: str
) -> None:
    with receiver(certificate=authority.issue(f"c{time.monotonic_ns()}", **dates)) as there:
        delivery = make(there.url, ca_file=str(authority.certificate)).send(AN_ALERT, 5.0)
    assert delivery[:2] == (False, True)
    assert says in delivery.what
    assert not there.requests


def test_plain_http_on_the_tls_port_is_not_delivered(make: Make, authority: Authority) -> None:
    with receiver(certificate=authority.issue(f"c{time.monotonic_ns()}")) as there:
        delivery = make(there.url.replace("https", "http")).send(AN_ALERT, 1.0)
    assert delivery[:2] == (False, True)


def test_tls_is_delivered(make: Make, authority: Authority) -> None:
    with receiver(certificate=authority.issue(f"c{time.monotonic_ns()}")) as there:
        assert make(there.url, ca_file=str(authority.certificate)).send(AN_ALERT, 5.0).delivered


def test_no_failure_shows_a_secret(make: Make) -> None:
    with receiver(Answer(401, body=b"token s3cret is not known")) as there:
        assert "s3cret" not in make(there.url).send(AN_ALERT, 5.0).what
