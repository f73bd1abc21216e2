"""Owns the proofs about Redis URLs: every form reads right, and no password is ever shown."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.redis_url import HostPort, RedisUrl, Secret, cli, parse_url, shown_url
from agent.core.settings import ReferenceSettings

#: The password of the scenario that asks for it everywhere, and as it must stand in a URL.
PASSWORD = "S3cr€t/@:#"
ENCODED = quote(PASSWORD, safe="")

ACCEPTED = {
    "redis://lock-store.internal": RedisUrl("redis", (HostPort("lock-store.internal", 6379),)),
    "REDIS://h:1": RedisUrl("redis", (HostPort("h", 1),)),
    "redis://h:6380/": RedisUrl("redis", (HostPort("h", 6380),)),
    "redis://h/15": RedisUrl("redis", (HostPort("h", 6379),)),
    "redis://10.0.0.1:65535": RedisUrl("redis", (HostPort("10.0.0.1", 65535),)),
    "redis://[::1]": RedisUrl("redis", (HostPort("::1", 6379),)),
    "redis://[::1]:7000/0": RedisUrl("redis", (HostPort("::1", 7000),)),
    "redis://[fe80::1%25eth0]": RedisUrl("redis", (HostPort("fe80::1%eth0", 6379),)),
    "redis://:pw@h": RedisUrl("redis", (HostPort("h", 6379),), password=Secret(b"pw")),
    "redis://:p@w@h": RedisUrl("redis", (HostPort("h", 6379),), password=Secret(b"p@w")),
    "redis://:p:w@h": RedisUrl("redis", (HostPort("h", 6379),), password=Secret(b"p:w")),
    "redis://:@h": RedisUrl("redis", (HostPort("h", 6379),)),
    "redis://ada@h": RedisUrl("redis", (HostPort("h", 6379),), user="ada"),
    "rediss://ada:pw@h:1": RedisUrl(
        "rediss", (HostPort("h", 1),), user="ada", password=Secret(b"pw")
    ),
    "redis://%C3%A5da:%00%ff@h": RedisUrl(
        "redis", (HostPort("h", 6379),), user="åda", password=Secret(b"\x00\xff")
    ),
    "unix:///run/redis/redis.sock": RedisUrl("unix", path="/run/redis/redis.sock"),
    "unix:///run/redis@1/s": RedisUrl("unix", path="/run/redis@1/s"),
    "unix:///run/a%20b": RedisUrl("unix", path="/run/a b"),
    "unix://ada:pw@/s": RedisUrl("unix", path="/s", user="ada", password=Secret(b"pw")),
    "redis+sentinel://a,b:1,[::1]:2/mymaster": RedisUrl(
        "redis+sentinel",
        (HostPort("a", 26379), HostPort("b", 1), HostPort("::1", 2)),
        service="mymaster",
    ),
    "rediss+sentinel://:pw@a/my-master/3": RedisUrl(
        "rediss+sentinel", (HostPort("a", 26379),), service="my-master", password=Secret(b"pw")
    ),
}

#: Why each is refused: a part of the sentence.
REFUSED = {
    "": "must start with",
    "lock-store:6379": "must start with",
    "http://h": "must start with",
    "redis:/h": "must start with",
    "redis://": "no usable host",
    "redis://:6379": "no usable host",
    "redis://@h@": "no usable host",
    "redis://bücher": "no usable host",
    "redis://a_b-c.d'e": "no usable host",
    "redis://h:": "no port",
    "redis://h:0": "no port",
    "redis://h:65536": "no port",
    "redis://h:065536": "no port",
    "redis://h:²": "no port",
    "redis://h:-1": "no port",
    "redis://::1": "no usable host",
    "redis://2001:db8::1": "no port",
    "redis://[::1": "not an IPv6 address",
    "redis://[h]": "not an IPv6 address",
    "redis://[::g]": "not an IPv6 address",
    "redis://[::1]x": "no port",
    "redis://[::1%a'b]": "name of an interface",
    "redis://h h": "blank or a control character",
    "redis://h\n": "blank or a control character",
    "redis://h\udc80": "blank or a control character",
    "redis://h/x": "only a database number",
    "redis://h/1/2": "only a database number",
    "redis://h?db=1": "'?' or '#'",
    "redis://h#1": "'?' or '#'",
    "redis://a,b": "only behind redis+sentinel",
    "redis://:50%@h": "two hex digits",
    "redis://:50%zz@h": "two hex digits",
    "redis://%ff:pw@h": "printable UTF-8",
    "redis://%0a:pw@h": "printable UTF-8",
    "unix://": "unix:///path",
    "unix:///": "unix:///path",
    "unix://relative/path": "unix:///path",
    "unix:///a?db=1": "'?' or '#'",
    "unix:///%00": "printable UTF-8",
    "unix:///" + "x" * 107: "longer than 107 bytes",
    "redis+sentinel://a": "name of the master",
    "redis+sentinel://a/": "name of the master",
    "redis+sentinel://a,/m": "no usable host",
    "redis://" + "h" * 254: "no usable host",
    "redis://" + "h" * 3000: "longer than 2048",
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_accepted_url_reads_right(text: str) -> None:
    assert parse_url(text) == ACCEPTED[text]


@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_url_is_answered_with_the_reason(text: str) -> None:
    reason = parse_url(text)
    assert isinstance(reason, str)
    assert REFUSED[text] in reason
    assert "\n" not in reason


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_is_shown_reads_back_as_the_same_server(text: str) -> None:
    shown = parse_url(ACCEPTED[text].shown.replace(" ", "%20"))
    assert isinstance(shown, RedisUrl)
    assert shown._replace(password=None) == ACCEPTED[text]._replace(password=None)


@given(st.text())
def test_any_text_is_a_url_or_a_reason(text: str) -> None:
    assert isinstance(parse_url(text), (RedisUrl, str))
    assert isinstance(shown_url(text), str)


@given(st.text(max_size=40), st.binary(min_size=1, max_size=40))
def test_a_percent_encoded_login_is_what_urllib_says_it_is(user: str, password: bytes) -> None:
    text = f"redis://{quote(user, safe='', errors='replace')}:{quote(password, safe='')}@h"
    url = parse_url(text)
    if isinstance(url, RedisUrl):
        assert url.user == user
        assert url.password == Secret(password)
        assert urlsplit(text).hostname == "h"
    else:
        assert not user.isprintable()


@given(st.text(alphabet=st.characters(exclude_characters="%", codec="utf-8")))
def test_no_part_of_a_password_is_told_however_the_url_is_broken(rest: str) -> None:
    password = "~Zq" + rest
    for text in (
        f"redis://:{password}@lock-store",
        f"redis://:{password}",
        f"redis//:{password}@h",
        f"{password}@h",
        f"redis://ada:{password}@h:x",
        f"unix://:{password}@/s",
        f"unix://:{password}@s",
        f"redis+sentinel://:{password}@h",
    ):
        assert "~Zq" not in f"{parse_url(text)!r}{shown_url(text)}"


def test_the_password_is_in_no_form_of_a_url() -> None:
    text = f"redis://ada:{ENCODED}@h:1"
    url = parse_url(text)
    assert isinstance(url, RedisUrl)
    settings = ReferenceSettings(name="locks", url=text)
    for told in (
        url.shown,
        shown_url(text),
        repr(url),
        str(url),
        repr(url._asdict()),
        repr(settings),
        str(settings),
        f"{(settings,)}",
        cli(url, url.servers[0]),
    ):
        assert "S3cr" not in told
        assert ENCODED not in told
    assert url.shown == "redis://ada:***@h:1"


def test_an_unreadable_url_is_shown_as_its_scheme_only() -> None:
    assert shown_url("redis://:pa#ss@h") == "redis://(unreadable)"
    assert shown_url("secret://h") == "(unreadable)"


def test_settings_show_everything_but_the_password() -> None:
    settings = ReferenceSettings(name="locks", url="redis://:pw@h", timeout=2.0)
    assert repr(settings) == (
        "ReferenceSettings(name='locks', url='redis://:***@h:6379', password_file=None, "
        "ca_file=None, cert_file=None, key_file=None, server_name=None, timeout=2.0, samples=5)"
    )


def test_a_secret_is_struck_out_in_each_form() -> None:
    secret = Secret("p/w€".encode(), b"p%2fw%e2%82%ac")
    assert secret.scrub(b"<p/w\xe2\x82\xac>") == b"<***>"
    assert secret.scrub(b"<p%2fw%e2%82%ac>") == b"<***>"
    assert secret.scrub(b"<p%2Fw%E2%82%AC>") == b"<***>"
    assert Secret(b"").scrub(b"text") == b"text"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("redis://h:1", "redis-cli -h h -p 1"),
        ("redis://[::1]", "redis-cli -h ::1 -p 6379"),
        ("redis://:pw@h", "redis-cli -h h -p 6379 --askpass"),
        ("rediss://ada:pw@h", "redis-cli -h h -p 6379 --tls --cacert /ca --user ada --askpass"),
        ("unix:///run/a%20b'c", "redis-cli -s '/run/a b'\\''c'"),
    ],
)
def test_the_command_to_try_by_hand_reaches_the_same_server(text: str, command: str) -> None:
    url = parse_url(text)
    assert isinstance(url, RedisUrl)
    assert cli(url, url.servers[0] if url.servers else None, "/ca") == command
