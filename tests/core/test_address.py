"""StatsD addresses as people write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.address import Address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8125", Address(host="127.0.0.1", port=8125)),
        ("statsd.internal:8125", Address(host="statsd.internal", port=8125)),
        ("[::1]:8125", Address(host="::1", port=8125)),
        ("[fe80::1%eth0]:9125", Address(host="fe80::1%eth0", port=9125)),
        ("/run/dsd.socket", Address(path="/run/dsd.socket")),
        ("unix:///run/dsd.socket", Address(path="/run/dsd.socket")),
    ],
)
def test_an_address_is_a_host_with_a_port_or_a_socket_path(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("localhost", "host:port"),
        ("udp://localhost:8125", "host:port"),
        ("unix://run/dsd.socket", "host:port"),
        ("localhost:", "no port"),
        ("localhost:0", "no port"),
        ("localhost:65536", "no port"),
        ("localhost:٣", "no port"),
        ("localhost:" + "9" * 5000, "no port"),
        (":8125", "no usable host"),
        ("[]:8125", "no usable host"),
        ("a b:8125", "no usable host"),
        ("::1:8125", "needs brackets"),
        ("/" + "x" * 107, "longer than 107 bytes"),
    ],
)
def test_what_is_neither_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_address(text)


@given(st.text(max_size=200))
def test_no_text_makes_the_reader_fail_in_another_way(text: str) -> None:
    with contextlib.suppress(ValueError):
        address = parse_address(text)
        assert address.path or 0 < address.port < 65536
