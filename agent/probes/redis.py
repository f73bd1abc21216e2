"""Owns taking one reading from a Redis server: find it, log in, ask for TIME, hand it to the core.

Sent are AUTH (when a login is configured), TIME, and to Sentinels their one question; a user who
may do nothing but TIME is enough. Each reading has a connection of its own, closed at its end.
"""

from __future__ import annotations

from agent import clock
from agent.core import exchange
from agent.core.exchange import Sample
from agent.core.model import Observation, Reading
from agent.core.printed import excerpt
from agent.core.redis_causes import error_cause, error_kind, miss
from agent.core.redis_url import HostPort, RedisUrl, Secret, parse_url
from agent.core.resp import ErrorReply, Reply, SimpleReply, encode
from agent.core.settings import ReferenceSettings
from agent.core.typed import TYPE_CHECKING
from agent.probes.redis_wire import Trouble, Wire, connect, connect_path, time_left
from agent.resolve import Address, resolve
from agent.secret_file import read_secret_bytes

if TYPE_CHECKING:
    from typing import Callable, List, Optional, Tuple, Union

    from typing_extensions import TypeAlias

#: As ``agent.resolve.resolve``.
Resolve: TypeAlias = "Callable[[str, int, float], Union[Tuple[Address, ...], str]]"

_MAX_HOST = 253
_MAX_PATH = 200  # characters of a path that are shown
#: After these the samples taken so far stand; after any other the server is not to be trusted.
_LOST = frozenset({"timeout", "closed"})
#: Causes that say nothing of the master's name; a Sentinel that did answer tells more.
_NO_WORD = frozenset({"refused", "timeout", "unreachable", "name", "closed"})


class RedisProbe:
    """One configured reference. ``read`` may be called from any thread."""

    def __init__(self, settings: ReferenceSettings, *, look_up: Resolve = resolve) -> None:
        self._settings = settings
        self._url = parse_url(settings.url)
        self._look_up = look_up

    @property
    def source(self) -> str:
        """The configured name of the reference."""
        return self._settings.name

    @property
    def timeout(self) -> float:
        """Seconds ``read`` takes at most, looking up the name included."""
        return self._settings.timeout

    def read(self) -> Observation:
        """Take one reading, or say why there is none. Never raises."""
        if isinstance(self._url, str):
            return miss(self._settings, None, "bad-url", self._url)
        attempt = _Attempt(self._settings, self._url, self._look_up)
        try:
            return attempt.reading()
        except Trouble as trouble:
            return miss(
                self._settings,
                self._url,
                trouble.cause,
                trouble.seen,
                where=attempt.where,
                server=attempt.server,
            )
        finally:
            attempt.close()


class _Attempt:
    """One reading being taken, and which server it has come to."""

    def __init__(self, settings: ReferenceSettings, url: RedisUrl, look_up: Resolve) -> None:
        self._settings = settings
        self._url = url
        self._look_up = look_up
        self._deadline = clock.monotonic() + settings.timeout
        self._password: Optional[Secret] = None
        self._wire: Optional[Wire] = None
        self._address = url.path
        #: The server being talked to, when it is not the one the URL names; for messages.
        self.where = ""
        self.server: Optional[HostPort] = None

    def reading(self) -> Reading:
        """The whole way from the name to the offset. Raises Trouble."""
        url = self._url
        self._password = self._find_password()
        if url.path:
            self._wire = Wire(connect_path(url.path, self._deadline), self._deadline)
        else:
            server = self._master() if url.service else url.servers[0]
            self._wire = self._connect(server, self._deadline)
        self._log_in(self._wire)
        samples = self._samples(self._wire)
        chosen = exchange.choose(samples)
        if chosen is None:
            raise Trouble("clock-stepped")
        if not exchange.consistent(samples):
            raise Trouble("unsteady")
        return exchange.reading(
            self._settings.name,
            chosen,
            clock.boottime(),
            {"address": self._address, "tls": url.tls},
        )

    def close(self) -> None:
        """Hang up."""
        if self._wire:
            self._wire.close()

    def _find_password(self) -> Optional[Secret]:
        path = self._settings.password_file
        return _read_password(path) if path else self._url.password

    def _connect(self, server: HostPort, deadline: float) -> Wire:
        """A connection to one server, encrypted if the URL says so."""
        addresses = self._look_up(server.host, server.port, deadline)
        if isinstance(addresses, str):
            raise Trouble("name", addresses)
        sock, address = connect(addresses, deadline)
        self._address = str(address)
        if not self._url.tls:
            return Wire(sock, deadline)
        from agent.probes.redis_tls import secure

        return secure(sock, self._settings, server, deadline)

    def _log_in(self, wire: Wire) -> None:
        """AUTH, when there is anything to log in with; a user without a password sends none."""
        user, password = self._url.user.encode(), self._password
        if not user and not password:
            return
        secret = password or Secret(b"")
        words = [b"AUTH", user, secret.reveal()] if user else [b"AUTH", secret.reveal()]
        reply = wire.ask(encode(*words), "while logging in", secret).reply
        if isinstance(reply, ErrorReply):
            raise Trouble(error_cause(reply, "auth-error"), error_kind(reply))
        if reply != SimpleReply(b"OK"):
            raise Trouble("not-redis", "it answered a login with neither OK nor an error")

    def _samples(self, wire: Wire) -> List[Sample]:
        """A warm-up and the configured number of exchanges, or as many as time allows."""
        samples: List[Sample] = []
        try:
            for _ in range(self._settings.samples + 1):
                samples.append(self._sample(wire))
        except Trouble as trouble:
            if not samples or trouble.cause not in _LOST:
                raise
        return samples

    def _sample(self, wire: Wire) -> Sample:
        answer = wire.ask(encode(exchange.TIME), "while asking for TIME")
        server = exchange.server_time(answer.reply)
        if server is None:
            raise _refusal(wire, answer.reply, "no-time", "absurd")
        sample = Sample(
            sent_wall=answer.sent_wall,
            received_wall=answer.received_wall,
            sent=answer.sent,
            received=answer.received,
            server=server,
        )
        if not exchange.plausible(sample):
            raise Trouble("absurd", f"{wire.quote(answer.reply)}, over a hundred years away")
        return sample

    def _master(self) -> HostPort:
        """Where the master is, by the first Sentinel that knows."""
        troubles: List[Tuple[Trouble, HostPort]] = []
        for number, sentinel in enumerate(self._url.servers):
            shares = len(self._url.servers) - number + 1  # the last share is the master's
            left = time_left(self._deadline, "before any Sentinel answered")
            try:
                master = self._ask_sentinel(sentinel, clock.monotonic() + left / shares)
            except Trouble as trouble:
                troubles.append((trouble, sentinel))
            else:
                self.where, self.server = f"Redis at {master} (by Sentinel)", master
                return master
        telling, sentinel = min(troubles, key=lambda each: each[0].cause in _NO_WORD)
        others = f" (one of {len(troubles)} asked)" if len(troubles) > 1 else ""
        self.where, self.server = f"Sentinel at {sentinel}{others}", sentinel
        raise telling

    def _ask_sentinel(self, sentinel: HostPort, deadline: float) -> HostPort:
        """One Sentinel's answer. It is told the login only when it asks for one."""
        question = encode(b"SENTINEL", b"get-master-addr-by-name", self._url.service.encode())
        wire = self._connect(sentinel, deadline)
        try:
            reply = wire.ask(question, "while asking for the master").reply
            if isinstance(reply, ErrorReply) and error_cause(reply, "") == "auth-missing":
                self._log_in(wire)
                reply = wire.ask(question, "while asking for the master").reply
        finally:
            wire.close()
        if reply is None:
            raise Trouble("no-master")
        master = _host_port(reply)
        if master is None:
            raise _refusal(wire, reply, "not-sentinel", "not-sentinel")
        return master


def _refusal(wire: Wire, reply: Reply, error: str, other: str) -> Trouble:
    """The trouble behind a reply that is not the one asked for."""
    cause = error_cause(reply, error) if isinstance(reply, ErrorReply) else other
    return Trouble(cause, wire.quote(reply))


def _read_password(path: str) -> Secret:
    """The password in a file. Read at each reading, so that a changed one is used at once."""
    try:
        return Secret(read_secret_bytes(path))
    except OSError as error:
        raise Trouble("password-file", f"{excerpt(path, _MAX_PATH)}: {error.strerror}") from None


def _host_port(reply: Reply) -> Optional[HostPort]:
    """The address in a Sentinel's answer; None when it is not one."""
    if not isinstance(reply, list) or len(reply) != 2:
        return None
    host, port = reply
    if not isinstance(host, bytes) or not isinstance(port, bytes):
        return None
    text = host.decode("ascii", "replace")
    plain = 0 < len(text) <= _MAX_HOST and text.isprintable() and text.isascii()
    if not plain or not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65536:
        return None
    return HostPort(text, int(port))
