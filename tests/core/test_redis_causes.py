"""Owns the proofs about the table of Redis causes: each reads well, advises, tells no secret."""

from __future__ import annotations

import string

import pytest

from agent.core.redis_causes import CAUSES, error_cause, error_kind, miss
from agent.core.redis_url import HostPort, RedisUrl, parse_url
from agent.core.resp import ErrorReply
from agent.core.settings import ReferenceSettings

URLS = (
    "redis://ada:S3cret@lock-store:6379",
    "rediss://:S3cret@[::1]",
    "unix://ada:S3cret@/run/redis/redis.sock",
    "redis+sentinel://:S3cret@a,b/mymaster",
)
SOCKET_ONLY = {"no-such-file", "socket-file"}
NETWORK_ONLY = {"name", "unreachable"}


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_reads_well_for_each_kind_of_server(cause: str, url: str) -> None:
    parsed = parse_url(url)
    assert isinstance(parsed, RedisUrl)
    if cause in (SOCKET_ONLY if parsed.servers else NETWORK_ONLY):
        return
    settings = ReferenceSettings(name="locks", url=url)
    told = miss(settings, parsed, cause, "what was seen")
    assert (told.source, told.cause) == ("locks", cause)
    for text in (told.what, *told.advice):
        assert text == text.strip()
        assert not set("{}\n") & set(text)
        assert "S3cret" not in text
    assert told.advice
    assert not told.what.endswith(".")
    assert "S3cret" not in repr(told)


@pytest.mark.parametrize("cause", CAUSES)
def test_what_was_seen_is_data_and_no_template(cause: str) -> None:
    settings = ReferenceSettings(name="locks", url="redis://h")
    told = miss(settings, RedisUrl("redis", (HostPort("h", 1),)), cause, "{where} {0} %s")
    shows = any(field == "seen" for _, field, _, _ in string.Formatter().parse(CAUSES[cause].what))
    assert ("{where} {0} %s" in told.what) == shows


def test_a_missing_right_is_named_with_the_command_that_grants_it() -> None:
    parsed = parse_url("redis://clock%20agent:pw@h")
    assert isinstance(parsed, RedisUrl)
    told = miss(ReferenceSettings(name="locks", url="redis://h"), parsed, "no-permission")
    assert told.advice[0] == "redis-cli -h h -p 6379 ACL SETUSER 'clock agent' +time"


def test_a_server_behind_sentinels_is_the_one_that_is_told() -> None:
    parsed = parse_url(URLS[3])
    assert isinstance(parsed, RedisUrl)
    told = miss(
        ReferenceSettings(name="locks", url=URLS[3]),
        parsed,
        "refused",
        where="Redis at 10.0.0.7:6379",
        server=HostPort("10.0.0.7", 6379),
    )
    assert told.what == "Redis at 10.0.0.7:6379 refused the connection"
    assert told.advice[0] == "redis-cli -h 10.0.0.7 -p 6379 --askpass TIME"
    assert told.detail == {"url": "redis+sentinel://:***@a:26379,b:26379/mymaster"}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (b"NOAUTH Authentication required.", "auth-missing"),
        (b"err noauth authentication required (proxy)", "auth-missing"),
        (b"WRONGPASS invalid username-password pair or user is disabled.", "auth-refused"),
        (b"NOPERM User ada has no permissions to run the 'time' command", "no-permission"),
        (b"LOADING Redis is loading the dataset in memory", "loading"),
        (b"IDONTKNOW I have not enough information to reply.", "no-master"),
        (b"ERR unknown command 'TIME'", "other"),
        (b"", "other"),
    ],
)
def test_an_error_is_known_by_its_words(text: bytes, cause: str) -> None:
    assert error_cause(ErrorReply(text), "other") == cause


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"ERR unknown command 'AUTH', with args beginning with: 'S3cret'", "ERR"),
        (b"S3cret", "unknown"),
        (b"SECRET9", "unknown"),
        (b"", "unknown"),
        (b"X" * 100, "unknown"),
    ],
)
def test_of_an_answer_to_auth_only_its_kind_is_told(text: bytes, kind: str) -> None:
    assert error_kind(ErrorReply(text)) == kind
