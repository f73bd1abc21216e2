"""Owns the kinds of values a setting may hold: how each is read, refused, shown and described.

A kind reads plain text. What it refuses it refuses with a ValueError whose text completes the
sentence "KEY: ..." and says what would be accepted.
"""

from __future__ import annotations

from agent.core.address import parse_address
from agent.core.model import Verdict
from agent.core.quantities import format_duration, format_size, parse_duration, parse_size
from agent.core.redis_url import parse_url, shown_url
from agent.core.statsd import DIALECTS
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Tuple

#: Words that other readers of YAML take for something else than text.
RESERVED = frozenset(("yes", "no", "on", "off", "y", "n", "true", "false", "null", "~", ""))
_SEVERITIES = {v.word: v for v in (Verdict.UNKNOWN, Verdict.WARNING, Verdict.CRITICAL)}
_LONGEST_TEXT = 4096
_DIGITS = frozenset("0123456789")
_NAME = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-")
_HOSTNAME = _NAME | frozenset(".")
_UNIT = _HOSTNAME | frozenset(":@\\")
_IPV6 = frozenset("0123456789abcdefABCDEF:.")
_NAMES = "letters, digits, - and _, at most 32"
_PREFIXES = "letters, digits, -, _ and single dots, at most 64"


class Kind(NamedTuple):
    """One kind of value; ``parse`` and ``show`` are each other's inverse."""

    #: What is accepted, to complete "accepted is ...".
    accepts: str
    parse: Callable[[str], Any]  # Any: each kind has its own type of value
    show: Callable[[Any], str] = str
    #: Shows a value without what must stay secret.
    hide: Optional[Callable[[Any], str]] = None
    #: True where an unquoted ``no`` would be ambiguous between text and a boolean.
    text: bool = False
    #: True where quotes say that something else than this kind was meant.
    bare: bool = False


def bounded(kind: Kind, low: Any, high: Any) -> Kind:
    """The same kind, from ``low`` to ``high``, both included."""

    def parse(text: str) -> Any:
        value = kind.parse(text)
        if not low <= value <= high:
            raise ValueError(
                f"{kind.show(value)} is out of bounds; accepted is"
                f" {kind.show(low)} to {kind.show(high)}"
            )
        return value

    accepts = f"{kind.accepts}, {kind.show(low)} to {kind.show(high)}"
    return kind._replace(parse=parse, accepts=accepts)


def choice(*words: str) -> Kind:
    """One of a few words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(
                f"'{text}' is not known{near(text, words)}; accepted is {_either(words)}"
            )
        return text

    return Kind(_either(words), parse)


def near(text: str, words: Any) -> str:
    """A hint naming the closest of ``words``, or nothing when none is close."""
    import difflib  # only needed once something is wrong

    close = difflib.get_close_matches(text.lower(), {w.lower(): w for w in words}, 1, 0.6)
    found = [word for word in words if close and word.lower() == close[0]]
    return f"; did you mean '{found[0]}'?" if found else ""


def _either(words: Tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _boolean(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    meant = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
    word = meant.get(text.lower(), text.lower() if text.lower() in ("true", "false") else "")
    hint = f"; write {word}" if word else ""
    raise ValueError(f"'{text}' is not a boolean; accepted is true or false{hint}")


def _integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"'{text}' is not a whole number")
    return int(text)


def _number(text: str) -> float:
    whole, point, fraction = text.partition(".")
    parts = (whole, fraction) if point else (whole,)
    if not all(0 < len(part) <= 12 and _DIGITS.issuperset(part) for part in parts):
        raise ValueError(f"'{text}' is not a number; write for example 50 or 0.5")
    return float(text)


def _text(text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"is longer than {_LONGEST_TEXT} characters")
    if not text.strip():
        raise ValueError("is empty")
    return text


def _name(text: str) -> str:
    if not (0 < len(text) <= 32 and _NAME.issuperset(text)) or text[0] in "-_":
        raise ValueError(f"'{text}' cannot be used; accepted is {_NAMES}")
    return text


def _prefix(text: str) -> str:
    parts = text.split(".")
    if len(text) > 64 or not all(part and _NAME.issuperset(part) for part in parts):
        raise ValueError(f"'{text}' cannot be used; accepted is {_PREFIXES}")
    return text


def _path(text: str) -> str:
    if not _text(text).startswith("/"):
        raise ValueError(
            f"'{text}' is not an absolute path; the daemon has no directory of its own"
        )
    return text


def _program(text: str) -> str:
    if "/" in _text(text):
        return _path(text)
    if text.startswith("-") or " " in text:
        raise ValueError(f"'{text}' is not a program; write a name or an absolute path")
    return text


def _host(text: str) -> str:
    if text.startswith("-") or any(character.isspace() for character in _text(text)):
        raise ValueError(f"'{text}' is not a host, an address or the path of a socket")
    return text


def _unit(text: str) -> str:
    if not (0 < len(text) <= 255 and _UNIT.issuperset(text)) or text.startswith("-"):
        raise ValueError(f"'{text}' is not a unit; write auto or a name such as chrony.service")
    return text if text == "auto" or text.endswith(".service") else f"{text}.service"


def _address(text: str) -> str:
    parse_address(text)
    return text


def _redis_url(text: str) -> str:
    parsed = parse_url(text)
    if isinstance(parsed, str):
        raise ValueError(parsed)
    return text


def _http_url(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in ("http", "https"):
        raise ValueError("is not a URL; write https://host/path or http://host/path")
    host = _authority(rest)
    if "@" in host:
        raise ValueError("has a user or password in its URL; write it into a file: token_file")
    if not (rest.isascii() and rest.isprintable()) or " " in rest:
        raise ValueError("has spaces or characters outside ASCII in its URL; write them as %20")
    name, port = _host_and_port(host)
    if not (_is_host(name) and 0 < len(port) <= 5 and _DIGITS.issuperset(port)):
        raise ValueError("has no usable host in its URL")
    if not 0 < int(port) < 65536:
        raise ValueError("has a port in its URL that is not from 1 to 65535")
    return text


def _hide_path(url: str) -> str:
    """An HTTP URL without path and query: chat services put their token there."""
    scheme, separator, rest = url.partition("://")
    host = _authority(rest)
    return url if host == rest else f"{scheme}{separator}{host}/***"


def _authority(rest: str) -> str:
    """Host and port of what stands behind the ``://`` of a URL."""
    for end in "/?#":
        rest = rest.partition(end)[0]
    return rest


def _host_and_port(authority: str) -> Tuple[str, str]:
    """What stands before and behind the colon of a port; without one it is HTTP's own."""
    host, colon, port = authority.rpartition(":")
    return (host, port) if colon and not authority.endswith("]") else (authority, "80")


def _is_host(text: str) -> bool:
    """True for a name, an IPv4 address, and an IPv6 address in brackets."""
    if text.startswith("[") and text.endswith("]"):
        return len(text) > 2 and _IPV6.issuperset(text[1:-1])
    return bool(text) and _HOSTNAME.issuperset(text)


def _hidden(_: Any) -> str:
    return "***"


BOOLEAN = Kind("true or false", _boolean, lambda value: "true" if value else "false", bare=True)
DURATION = Kind("a duration", parse_duration, format_duration)
SIZE = Kind("a size", parse_size, format_size)
INTEGER = Kind("a whole number", _integer)
NUMBER = Kind("a number", _number, lambda value: f"{value:.12f}".rstrip("0").rstrip("."))
TEXT = Kind("a text", _text, text=True)
#: A text where even a plain ``no`` can only be text.
LABEL = Kind("a text", _text)
SECRET = Kind("a text", _text, hide=_hidden)
ARGUMENT = Kind("a list of texts; the first is the absolute path of a program", str)
NAME = Kind(_NAMES, _name, text=True)
PREFIX = Kind(_PREFIXES, _prefix, text=True)
PATH = Kind("an absolute path", _path, text=True)
PROGRAM = Kind("a program's name or absolute path", _program, text=True)
HOST = Kind("a host, an address or the path of a socket", _host, text=True)
UNIT = Kind("auto or the name of a service unit", _unit, text=True)
ADDRESS = Kind("host:port, [v6]:port, /path or unix:///path", _address, text=True)
REDIS_URL = Kind("a Redis URL", _redis_url, hide=shown_url, text=True)
HTTP_URL = Kind("an http:// or https:// URL", _http_url, text=True)
SECRET_URL = HTTP_URL._replace(hide=_hide_path)
_WORDS = choice(*_SEVERITIES)
SEVERITY = _WORDS._replace(
    parse=lambda text: _SEVERITIES[_WORDS.parse(text)], show=lambda value: str(value.word)
)
DIALECT = choice(*DIALECTS)
