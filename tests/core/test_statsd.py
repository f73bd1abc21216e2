"""Names, numbers, tags and datagrams as StatsD servers want them."""

from __future__ import annotations

import re
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import statsd
from agent.core.address import Address, parse_address
from agent.core.settings import StatsdSettings

REMOTE = parse_address("10.0.0.1:8125")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]{1,6})?")


def named(hostname: str, address: Address = REMOTE, **settings: Any) -> statsd.Naming:
    return statsd.naming(StatsdSettings(**settings), address, hostname)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_written_in_fixed_point(value: float) -> None:
    text = str(statsd.fixed(value))
    assert NUMBER.fullmatch(text)
    assert len(text) <= 20
    assert text != "-0"


@given(st.floats(min_value=-1e9, max_value=1e9))
def test_a_number_keeps_its_value_to_six_decimals(value: float) -> None:
    assert float(str(statsd.fixed(value))) == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_not_written(value: float) -> None:
    assert statsd.fixed(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-5, "0.00001"), (-1e-8, "0"), (-0.0, "0"), (1e22, "1000000000000"), (-5.0, "-5")],
)
def test_numbers_that_python_would_write_otherwise(value: float, text: str) -> None:
    assert str(statsd.fixed(value)) == text


@given(st.text(max_size=200))
def test_any_host_name_is_exactly_one_part_of_the_name(host: str) -> None:
    prefix = named(host).prefix
    assert re.fullmatch(r"clock\.[A-Za-z0-9_-]{1,64}", prefix)
    assert named(host).prefix == prefix


@pytest.mark.parametrize(
    ("host", "part"),
    [
        ("web-1.dc.example.org", "web-1_dc_example_org"),
        ("WEB 1", "WEB_1"),
        ("a:b|c", "a_b_c"),
        ("fe80::1%eth0", "fe80__1_eth0"),
        ("h" * 64, "h" * 64),
        ("", "unknown"),
    ],
)
def test_odd_host_names(host: str, part: str) -> None:
    assert named(host).prefix == f"clock.{part}"


def test_hosts_that_differ_by_dot_and_dash_keep_apart() -> None:
    assert named("a.b").prefix != named("a-b").prefix


@pytest.mark.parametrize("prefix", ["clock.", ".clock", "clo\nck", "a..b", "."])
def test_a_prefix_never_makes_an_empty_part(prefix: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", named("", prefix=prefix).prefix)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8125", "[::1]:8125", "localhost:8125", "/run/dsd.socket"]
)
def test_the_local_aggregator_adds_the_host_itself(address: str) -> None:
    assert named("web-1", parse_address(address)).prefix == "clock"
    assert named("web-1", parse_address(address), dialect="dogstatsd").tags == ""
    assert named("web-1", parse_address(address), host="w9").prefix == "clock.w9"


def test_a_distant_server_is_told_the_host_in_the_way_of_its_dialect() -> None:
    assert named("web-1").prefix == "clock.web-1"
    assert named("web-1", dialect="dogstatsd")[:2] == ("clock", "|#host:web-1")
    assert named("web-1", dialect="influx")[:2] == ("clock", ",host=web-1")
    assert named("web-1", dialect="graphite")[:2] == ("clock", ";host=web-1")
    assert named("web-1", host="none").prefix == "clock"


def test_a_host_that_is_called_localhost_is_remarked_on() -> None:
    assert "localhost" in named("localhost").remarks[0]
    assert not named("web-1").remarks
    assert not named("localhost", parse_address("127.0.0.1:8125")).remarks


GRAMMAR: Dict[str, str] = {
    "dogstatsd": r"\|#[\w./-]+:[\w./-]+(,[\w./-]+:[\w./-]+)*",
    "influx": r"(,[\w./-]+=[\w./-]+)+",
    "graphite": r"(;[\w./-]+=[\w./-]+)+",
}


@pytest.mark.parametrize("dialect", GRAMMAR)
@given(tags=st.dictionaries(st.text(max_size=20), st.text(max_size=120), max_size=8))
def test_any_tags_follow_the_grammar_of_the_dialect(dialect: str, tags: Dict[str, str]) -> None:
    written = named("web-1", dialect=dialect, tags=tags).tags
    assert re.fullmatch(GRAMMAR[dialect], written, re.ASCII)


def test_special_characters_in_tags_are_replaced() -> None:
    tags = {"a": "1,2=3:4|5 6", "ü": "", "ok": "x-y_z.1/2"}
    written = named("w", dialect="influx", tags=tags).tags
    assert written == ",host=w,a=1_2_3_4_5_6,_=_,ok=x-y_z.1/2"


def test_plain_has_no_tags() -> None:
    assert named("web-1", tags={"dc": "eu"}).tags == ""


def test_tags_for_which_there_is_no_room_are_left_out_and_named() -> None:
    tags = {f"tag{i}": "v" * 90 for i in range(9)}
    short = named("web-1", dialect="graphite", tags=tags)
    assert "tag8" in short.remarks[0]
    assert "tag0" in short.tags + short.remarks[0]


@given(st.lists(st.text("abc:1|g\n", min_size=1, max_size=300), max_size=30))
def test_blocks_are_packed_in_order_and_never_divided(blocks: Any) -> None:
    datagrams = statsd.packed(blocks)
    assert "\n".join(blocks).encode() == b"\n".join(datagrams)
    assert all(len(datagram) <= statsd.MAX_DATAGRAM for datagram in datagrams)
    ends = {len("\n".join(blocks[: i + 1])) for i in range(len(blocks))}
    position = -1
    for datagram in datagrams:
        position += 1 + len(datagram)
        assert position in ends
