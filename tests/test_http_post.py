"""One POST against receivers of every kind: it ends on time and says what happened."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Iterator, Union

import pytest

from agent.core.http_answer import Reply
from agent.http_post import Request, post
from agent.resolve import Resolver
from tests.support import receiver as receivers
from tests.support.certificates import Authority
from tests.support.limits import no_file_left
from tests.support.ports import free_port
from tests.support.receiver import Answer, behaving, receiver


def sent(url: str, timeout: float = 5.0, **more: Any) -> Union[Reply, str]:
    return post(Request(url=url, body=b"{}", **more), timeout)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_a_post_arrives_as_it_was_meant() -> None:
    with receiver(Answer(202)) as there:
        answer = sent(f"{there.url}/a/b?c=d", headers={"X-Own": "1"})
    assert isinstance(answer, Reply)
    assert answer.status == 202
    (request,) = there.requests
    assert request.path == "/a/b?c=d"
    assert request.body == b"{}"
    assert request.headers["host"] == f"127.0.0.1:{there.port}"
    assert request.headers["x-own"] == "1"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("clock-agent/")


def test_a_name_is_looked_up() -> None:
    with receiver() as there:
        answer = sent(f"http://localhost:{there.port}")
    assert isinstance(answer, Reply)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with receiver() as there:
        assert isinstance(sent(there.url), Reply)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with receiver() as elsewhere, receiver(Answer(status, {"Location": elsewhere.url})) as there:
        answer = sent(there.url)
    assert isinstance(answer, Reply)
    assert answer.status == status
    assert not elsewhere.requests


@pytest.mark.parametrize("misbehave", [receivers.silent, receivers.dripping])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_deadline_holds_however_slowly_it_answers(
    misbehave: receivers.Behaviour, scheme: str
) -> None:
    with behaving(misbehave) as port:
        started = time.monotonic()
        answer = sent(f"{scheme}://127.0.0.1:{port}", timeout=0.7)
        assert time.monotonic() - started < 2.0
    assert isinstance(answer, str)
    if misbehave is receivers.silent:
        assert "no answer within 0.7 s" in answer


def test_the_deadline_holds_while_the_answer_trickles_through_tls(authority: Authority) -> None:
    import ssl

    pair = authority.issue("trickle")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)

    def drip(connection: Any, over: Any) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            receivers.dripping(secured, over)

    with behaving(drip) as port:
        started = time.monotonic()
        answer = sent(f"https://127.0.0.1:{port}", timeout=0.7, ca_file=str(authority.certificate))
        assert time.monotonic() - started < 2.0
    assert "while waiting for its answer" in str(answer)


def test_the_deadline_holds_while_the_resolver_is_silent() -> None:
    import threading

    over = threading.Event()

    def look_up(_: bytes) -> Any:
        over.wait(60)
        return []

    started = time.monotonic()
    request = Request(url="http://hooks.example/", body=b"{}")
    answer = post(request, 0.5, Resolver(look_up).resolve)
    assert time.monotonic() - started < 2.0
    over.set()
    assert answer == (
        "http://hooks.example: the name cannot be resolved: the resolver gave no answer in time"
    )


def test_an_endless_refusal_is_read_only_in_part() -> None:
    with behaving(receivers.endless) as port:
        answer = sent(f"http://127.0.0.1:{port}")
    assert isinstance(answer, Reply)
    assert answer.status == 500
    assert len(answer.text) <= 4096


@pytest.mark.parametrize(
    ("misbehave", "says"),
    [
        (receivers.closing, "closed the connection without an answer"),
        (receivers.babbling, "does not answer in HTTP"),
        (receivers.overlong, "does not answer in HTTP"),
    ],
)
def test_what_is_not_an_answer_is_named(misbehave: receivers.Behaviour, says: str) -> None:
    with behaving(misbehave) as port:
        assert sent(f"http://127.0.0.1:{port}") == f"http://127.0.0.1:{port} {says}"


def test_a_refused_connection_is_named() -> None:
    port = free_port()
    assert sent(f"http://127.0.0.1:{port}") == (
        f"http://127.0.0.1:{port}: Connection refused (while connecting)"
    )


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "ftp://x/", "http://[::1/"])
def test_a_url_that_cannot_be_one_is_no_exception(url: str) -> None:
    assert sent(url) == "its URL cannot be used"


def test_tls_with_the_right_certificate_is_delivered(authority: Authority) -> None:
    with receiver(certificate=authority.issue("good")) as there:
        answer = sent(there.url, ca_file=str(authority.certificate))
    assert isinstance(answer, Reply)
    assert there.requests


@pytest.mark.parametrize(
    ("dates", "says"),
    [
        (
            {"start": 10, "end": 20},
            "not yet valid: so it looks when this host's clock is behind (it",
        ),
        ({"start": -20, "end": -10}, "has expired, or this host's clock is ahead (it says 20"),
        ({"hosts": "DNS:elsewhere.example"}, "for another name than 127.0.0.1"),
    ],
)
def test_why_a_certificate_is_refused_is_said(authority: Authority, dates: Any, says: str) -> None:
    with receiver(certificate=authority.issue(f"bad{sorted(dates)}", **dates)) as there:
        answer = sent(there.url, ca_file=str(authority.certificate))
        assert says in str(answer)
        assert not there.requests


def test_an_authority_nobody_named_is_not_trusted(authority: Authority) -> None:
    with receiver(certificate=authority.issue("unknown")) as there:
        assert "is not trusted: " in str(sent(there.url))


def test_plain_http_on_a_tls_port_and_the_reverse_are_named(authority: Authority) -> None:
    with receiver(certificate=authority.issue("tls")) as there:
        assert isinstance(sent(there.url.replace("https", "http"), timeout=2), str)
    with receiver() as there:
        answer = sent(there.url.replace("http", "https"))
    assert "does not speak TLS" in str(answer)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_ca_file_that_cannot_be_used_is_named(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    answer = sent("https://127.0.0.1:1/", ca_file=str(path))
    assert isinstance(answer, str)
    assert str(path) in answer


def test_secrets_in_an_answer_and_in_the_url_are_not_repeated() -> None:
    echo = b"unknown token s3cret-token at /hooks/T123/s3cret-path"
    with receiver(Answer(403, body=echo)) as there:
        answer = sent(f"{there.url}/hooks/T123/s3cret-path", secrets=("s3cret-token",))
    assert isinstance(answer, Reply)
    assert answer.text == "unknown token *** at ***"
    with receiver(Answer(403, body=echo)) as there:
        answer = sent(f"{there.url}/hooks/T123/s3cret-path?x=1", secrets=("s3cret-token",))
    assert isinstance(answer, Reply)
    assert answer.text == "unknown token *** at ***"
    assert "s3cret" not in str(sent(f"http://127.0.0.1:{free_port()}/s3cret"))


@pytest.fixture
def descriptors() -> Iterator[None]:
    with no_file_left():
        yield


@pytest.mark.usefixtures("descriptors")
def test_no_failure_leaves_a_descriptor_behind() -> None:
    for misbehave in (receivers.closing, receivers.babbling, receivers.silent):
        with behaving(misbehave) as port:
            for scheme in ("http", "https"):
                sent(f"{scheme}://127.0.0.1:{port}", timeout=0.3)
    sent(f"http://127.0.0.1:{free_port()}")
