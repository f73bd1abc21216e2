"""Owns the written form of a Redis reference: its URL, and how to show it without its password.

No sentence made here quotes the text it complains about, because any part of it may be a password
with a character that should have been percent-encoded. urllib is not used: it would cost start-up
time, and it reads ``redis://:pa#ss@host`` as a host called ``""`` without a word.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.wording import shell_word

if TYPE_CHECKING:
    from typing import Mapping, Optional, Tuple, Union

_LONGEST = 2048
_LONGEST_PATH = 107  # sun_path of a unix socket, without its final NUL
_LONGEST_NAME = 253  # of a host, RFC 1035
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_NAME_CHARACTERS = frozenset(_LETTERS + _DIGITS + "-._")
_V6_CHARACTERS = frozenset("abcdefABCDEF:." + _DIGITS)

#: Scheme -> the port that is meant when the URL names none.
SCHEMES: Mapping[str, int] = {
    "redis": 6379,
    "rediss": 6379,
    "unix": 0,
    "redis+sentinel": 26379,
    "rediss+sentinel": 26379,
}


class Secret:
    """Bytes that nobody may see: ``repr`` and ``str`` show stars, only ``reveal`` gives them."""

    __slots__ = ("_value", "_written")

    def __init__(self, value: bytes, written: bytes = b"") -> None:
        """``written`` is how the value stood in its URL, percent-encoded."""
        self._value = value
        self._written = written

    def reveal(self) -> bytes:
        """The secret itself, for the wire and nothing else."""
        return self._value

    def scrub(self, text: bytes) -> bytes:
        """``text`` with the secret struck out, in each form in which it may be echoed."""
        encoded = b"".join(
            b"%c" % byte if chr(byte) in _NAME_CHARACTERS else b"%%%02X" % byte
            for byte in self._value
        )
        for form in (self._value, self._written, encoded):
            if form:
                text = text.replace(form, b"***")
        return text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class HostPort(NamedTuple):
    """A server by name or numeric address, and its TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RedisUrl(NamedTuple):
    """A reference's URL taken apart; safe to print, for its password is a ``Secret``."""

    scheme: str
    #: One server, or the Sentinels to ask in this order; empty for a unix socket.
    servers: Tuple[HostPort, ...] = ()
    #: Path of a unix socket, else ``""``.
    path: str = ""
    #: The name under which the Sentinels watch the master, else ``""``.
    service: str = ""
    #: ACL user; ``""`` logs in as the default user.
    user: str = ""
    password: Optional[Secret] = None

    @property
    def tls(self) -> bool:
        """True when every connection goes through TLS."""
        return self.scheme.startswith("rediss")

    @property
    def where(self) -> str:
        """The server, the Sentinels or the socket as people read it: no user, no password."""
        return self.path or ",".join(map(str, self.servers))

    @property
    def shown(self) -> str:
        """The URL with stars for its password."""
        login = self.user + (":***" if self.password else "")
        service = f"/{self.service}" if self.service else ""
        return f"{self.scheme}://{login + '@' if login else ''}{self.where}{service}"


def parse_url(text: str) -> Union[RedisUrl, str]:
    """Read a URL; for one that cannot be used, return the sentence that says why.

    Accepted: ``redis://[user[:password]@]host[:port][/db]``, the same with ``rediss``;
    ``unix://[user[:password]@]/path``; ``redis+sentinel://[user[:password]@]host[:port],.../name``,
    the same with ``rediss+sentinel``. A database number may stand there, for such URLs are copied
    from applications; it means nothing here, since TIME is the same in all.
    """
    try:
        return _parse(text)
    except ValueError as error:
        return str(error)


def shown_url(text: str) -> str:
    """``text`` as it may be logged and printed: no password; a broken URL is only its scheme."""
    url = parse_url(text)
    if isinstance(url, RedisUrl):
        return url.shown
    scheme = text.partition("://")[0]
    return f"{scheme}://(unreadable)" if scheme in SCHEMES else "(unreadable)"


def cli(url: RedisUrl, server: Optional[HostPort] = None, ca_file: Optional[str] = None) -> str:
    """The ``redis-cli`` command line that reaches the same server; it asks for the password.

    ``server`` is the one to reach when the URL names several (Sentinels) or another (a master).
    """
    words = ["redis-cli"]
    if url.path:
        words += ["-s", url.path]
    elif server:
        words += ["-h", server.host, "-p", str(server.port)]
    if url.tls:
        words += ["--tls", *(("--cacert", ca_file) if ca_file else ())]
    if url.user:
        words += ["--user", url.user]
    if url.user or url.password:
        words.append("--askpass")
    return " ".join(map(shell_word, words))


def _parse(text: str) -> RedisUrl:
    """As ``parse_url``, but raises ValueError with the sentence."""
    if len(text) > _LONGEST:
        raise ValueError(f"the URL is longer than {_LONGEST} characters")
    if not text.isprintable() or " " in text:
        raise ValueError("the URL holds a blank or a control character; percent-encode it (%20)")
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in SCHEMES:
        raise ValueError("the URL must start with " + ", ".join(f"{each}://" for each in SCHEMES))
    if "?" in rest or "#" in rest:
        raise ValueError(
            "the URL may not hold '?' or '#': options have settings of their own, "
            "and in a password write %3F and %23"
        )
    return _parse_unix(rest) if scheme == "unix" else _parse_network(scheme, rest)


def _parse_unix(rest: str) -> RedisUrl:
    """The part after ``unix://``: the path starts at the first slash and may hold any '@'."""
    login, slash, path = rest.partition("/")
    if not slash or not path or (login and not login.endswith("@")):
        raise ValueError(
            "a socket is written unix:///path/to/socket, a login before its path with @"
        )
    decoded = _decoded(slash + path)
    if len(decoded) > _LONGEST_PATH:
        raise ValueError(f"the socket path is longer than {_LONGEST_PATH} bytes")
    user, password = _parse_login(login[:-1])
    return RedisUrl(scheme="unix", path=_text(decoded), user=user, password=password)


def _parse_network(scheme: str, rest: str) -> RedisUrl:
    """The part after any other scheme."""
    authority, _, path = rest.partition("/")
    login, _, servers = authority.rpartition("@")
    sentinel = scheme.endswith("+sentinel")
    service, _, database = path.partition("/") if sentinel else ("", "", path)
    if database and not (database.isascii() and database.isdigit()):
        raise ValueError(
            "after host and port only a database number may follow; in a password write '/' as %2F"
        )
    if sentinel and not service:
        raise ValueError("a Sentinel URL ends in the name of the master it watches: .../mymaster")
    if not sentinel and "," in servers:
        raise ValueError("several servers are understood only behind redis+sentinel://")
    user, password = _parse_login(login)
    return RedisUrl(
        scheme=scheme,
        servers=tuple(_parse_server(each, SCHEMES[scheme]) for each in servers.split(",")),
        service=_text(_decoded(service)),
        user=user,
        password=password,
    )


def _parse_login(text: str) -> Tuple[str, Optional[Secret]]:
    """``user:password``; an empty password is none."""
    user, _, written = text.partition(":")
    password = _decoded(written)
    return _text(_decoded(user)), Secret(password, written.encode()) if password else None


def _parse_server(text: str, port: int) -> HostPort:
    """``host``, ``host:port``, ``[v6]`` or ``[v6]:port``; ``port`` is the one meant by silence."""
    if text.startswith("["):
        inside, bracket, rest = text[1:].partition("]")
        address, _, zone = inside.replace("%25", "%").partition("%")
        if not bracket or ":" not in address or not _V6_CHARACTERS.issuperset(address):
            raise ValueError("what stands between [ and ] is not an IPv6 address")
        if not _NAME_CHARACTERS.issuperset(zone):
            raise ValueError("what stands after % in [ and ] is not the name of an interface")
        host = f"{address}%{zone}" if zone else address
    else:
        host, colon, number = text.partition(":")
        rest = colon + number
        if not host or len(host) > _LONGEST_NAME or not _NAME_CHARACTERS.issuperset(host):
            raise ValueError(
                "the URL has no usable host: letters, digits, '-', '.' and '_' make a name "
                "(others in their xn-- form), and an IPv6 address stands in brackets"
            )
    return HostPort(host, _parse_port(rest) if rest else port)


def _parse_port(text: str) -> int:
    """``:port``."""
    number = text[1:]
    if text[0] == ":" and number.isascii() and number.isdigit() and len(number) <= 5:
        port = int(number)
        if 0 < port < 65536:
            return port
    raise ValueError(
        "the URL has no port from 1 to 65535 after its host's ':'; "
        "an IPv6 address stands in brackets, and in a password write '/' as %2F, '@' as %40"
    )


def _decoded(text: str) -> bytes:
    """Undo percent-encoding, strictly: a password with a lone % must not change its meaning."""
    first, *escapes = text.split("%")
    parts = [first.encode()]
    for part in escapes:
        digits = part[:2]
        if len(digits) < 2 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise ValueError(
                "a % in the URL needs two hex digits after it; write a % itself as %25"
            )
        parts.append(bytes([int(digits, 16)]) + part[2:].encode())
    return b"".join(parts)


def _text(decoded: bytes) -> str:
    """A decoded name for people and commands: printable UTF-8."""
    text = decoded.decode("utf-8", "replace")
    if "\ufffd" in text or not text.isprintable():
        raise ValueError("a user, a path or a master's name must be printable UTF-8")
    return text
