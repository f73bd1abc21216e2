"""Owns the proofs about TLS to a real Redis server: certificates of every kind, and mismatches."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

from tests.support.certificates import Authority, Pair, encrypted
from tests.support.limits import no_file_left
from tests.support.redis_proxy import FakeRedis
from tests.support.redis_server import RedisServer, redis_server
from tests.support.references import ENCODED, PASSWORD, SLACK, free_of_secrets, good, missed, read


class Tls(NamedTuple):
    """An authority, a server whose certificate it signed, and one for clients."""

    authority: Authority
    server: RedisServer
    client: Pair

    @property
    def url(self) -> str:
        return f"rediss://127.0.0.1:{self.server.tls_port}"

    @property
    def ca_file(self) -> str:
        return str(self.authority.certificate)

    def serve(self, certificate: Pair) -> None:
        """From the next handshake on, show ``certificate``."""
        with self.server.client(password=PASSWORD) as client:
            client.execute_command(
                *("CONFIG", "SET", "tls-cert-file", str(certificate.certificate)),
                *("tls-key-file", str(certificate.key)),
            )


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tls]:
    """A server with a valid certificate for 127.0.0.1 and localhost, and a password."""
    directory = tmp_path_factory.mktemp("tls")
    authority = Authority(directory / "ca")
    pair = authority.issue("server")
    options = ("--requirepass", PASSWORD)
    with redis_server(directory, *options, tls=pair, ca=authority.certificate) as server:
        yield Tls(authority=authority, server=server, client=authority.issue("client"))


@pytest.fixture
def shown(tls: Tls) -> Iterator[Tls]:
    """The same, for tests that let the server show another certificate."""
    yield tls
    tls.serve(tls.authority.issue("server"))


def login(url: str) -> str:
    return url.replace("://", f"://:{ENCODED}@")


def test_a_valid_certificate_is_enough(tls: Tls) -> None:
    reading = good(read(login(tls.url), ca_file=tls.ca_file, timeout=5.0))
    assert reading.detail["tls"] is True
    assert abs(reading.offset) <= reading.uncertainty


def test_a_host_name_is_checked_as_such(tls: Tls) -> None:
    url = login(f"rediss://localhost:{tls.server.tls_port}")
    good(read(url, ca_file=tls.ca_file, timeout=5.0))


def test_a_wrong_password_is_told_apart_over_tls_too(tls: Tls) -> None:
    url = tls.url.replace("://", f"://:{ENCODED}x@")
    free_of_secrets(missed(read(url, ca_file=tls.ca_file, timeout=5.0), "auth-refused"))


def test_an_authority_nobody_knows_is_not_trusted(tls: Tls, tmp_path: Path) -> None:
    missed(read(login(tls.url), timeout=5.0), "tls-untrusted")
    other = Authority(tmp_path / "other")
    miss = missed(
        read(login(tls.url), ca_file=str(other.certificate), timeout=5.0), "tls-untrusted"
    )
    free_of_secrets(miss)


@pytest.mark.parametrize(
    ("start", "end", "cause"),
    [(30, 60, "tls-not-yet-valid"), (-60, -30, "tls-expired")],
)
def test_dates_that_do_not_fit_this_clock_cast_doubt_on_it(
    shown: Tls, start: float, end: float, cause: str
) -> None:
    shown.serve(shown.authority.issue("dated", start=start, end=end))
    miss = missed(read(login(shown.url), ca_file=shown.ca_file, timeout=5.0), cause)
    assert time.strftime("%Y-%m-%d", time.gmtime()) in miss.what
    assert "This clock may be far" in miss.advice[0]


def test_a_certificate_for_another_host_is_refused_unless_expected(shown: Tls) -> None:
    shown.serve(shown.authority.issue("elsewhere", hosts="DNS:lock-store.internal"))
    missed(read(login(shown.url), ca_file=shown.ca_file, timeout=5.0), "tls-name")
    good(
        read(
            login(shown.url),
            ca_file=shown.ca_file,
            server_name="lock-store.internal",
            timeout=5.0,
        )
    )


def test_a_server_that_wants_a_certificate_is_shown_one(tls: Tls, tmp_path: Path) -> None:
    pair = tls.authority.issue("strict")
    options = ("--tls-auth-clients", "yes")
    with redis_server(tmp_path, *options, tls=pair, ca=tls.authority.certificate) as server:
        url = f"rediss://127.0.0.1:{server.tls_port}"
        missed(read(url, ca_file=tls.ca_file, timeout=5.0), "tls-client")
        stranger = Authority(tmp_path / "other").issue("client")
        for pair, cause in ((tls.client, ""), (stranger, "tls-client")):
            observation = read(
                url,
                ca_file=tls.ca_file,
                cert_file=str(pair.certificate),
                key_file=str(pair.key),
                timeout=5.0,
            )
            missed(observation, cause) if cause else good(observation)


class TestMismatch:
    """Plain against TLS, both ways, within the deadline."""

    def test_plain_words_to_a_tls_port(self, tls: Tls) -> None:
        url = login(f"redis://127.0.0.1:{tls.server.tls_port}")
        miss = missed(read(url), "tls-mismatch", "closed")  # with or without a word before
        assert "TLS" in miss.what
        free_of_secrets(miss)

    def test_tls_to_a_plain_port_of_a_real_server(self, tls: Tls) -> None:
        started = time.monotonic()
        observation = read(tls.server.url.replace("redis:", "rediss:"), timeout=1.0)
        assert time.monotonic() - started < 1.0 + SLACK
        miss = missed(observation, "tls-mismatch", "timeout")
        assert "redis://" in miss.what + "".join(miss.advice)

    def test_tls_to_a_port_that_greets_in_plain_words(self) -> None:
        with FakeRedis(greeting=b"220 mail ESMTP\r\n") as server:
            missed(read(f"rediss://127.0.0.1:{server.port}", timeout=5.0), "tls-mismatch")


class TestFiles:
    """Files that cannot be used are named, and nothing asks for a passphrase."""

    def test_a_missing_authority(self, tls: Tls, tmp_path: Path) -> None:
        for path in (tmp_path / "none", tmp_path, tls.client.key):
            miss = missed(read(tls.url, ca_file=str(path), timeout=5.0), "tls-file")
            assert f"ca_file {path}" in miss.what

    @pytest.mark.parametrize("broken", ["cert_file", "key_file"])
    def test_a_missing_client_certificate(self, tls: Tls, tmp_path: Path, broken: str) -> None:
        files = {"cert_file": str(tls.client.certificate), "key_file": str(tls.client.key)}
        files[broken] = str(tmp_path / "none")
        miss = missed(read(tls.url, ca_file=tls.ca_file, timeout=5.0, **files), "tls-file")
        assert files[broken] in miss.what

    def test_a_key_behind_a_passphrase(self, tls: Tls) -> None:
        pair = encrypted(tls.client, "secret")
        files = {"cert_file": str(pair.certificate), "key_file": str(pair.key)}
        missed(read(tls.url, ca_file=tls.ca_file, timeout=5.0, **files), "tls-file")

    def test_a_key_of_another_certificate(self, tls: Tls) -> None:
        other = tls.authority.issue("other")
        files = {"cert_file": str(tls.client.certificate), "key_file": str(other.key)}
        missed(read(tls.url, ca_file=tls.ca_file, timeout=5.0, **files), "tls-file")

    def test_a_renewed_authority_is_seen_by_the_next_reading(
        self, tls: Tls, tmp_path: Path
    ) -> None:
        path = tmp_path / "ca.pem"
        path.write_bytes(Authority(tmp_path / "old").certificate.read_bytes())
        missed(read(login(tls.url), ca_file=str(path), timeout=5.0), "tls-untrusted")
        path.write_bytes(tls.authority.certificate.read_bytes())
        good(read(login(tls.url), ca_file=str(path), timeout=5.0))


def test_no_descriptor_is_left_open(tls: Tls) -> None:
    good(read(login(tls.url), ca_file=tls.ca_file, timeout=5.0))
    with no_file_left():
        for _ in range(5):
            good(read(login(tls.url), ca_file=tls.ca_file, timeout=5.0))
            missed(read(login(tls.url), timeout=5.0), "tls-untrusted")
            read(tls.server.url.replace("redis:", "rediss:"), timeout=0.1)
