"""Owns looking up host names so that it ends on time. A ground module: any adapter may ask.

The system's resolver takes no deadline: with a silent name server it blocks for 10 to 30 s, and
nothing can interrupt it. So it runs in a thread of its own; the caller waits until its deadline and
goes away, and whoever asks for the same name while that thread still waits is handed its answer
instead of a second thread. Numeric addresses need neither.
"""

from __future__ import annotations

import _socket  # ``socket`` itself costs 5 ms of start-up, for constants as enums
import _thread

from agent import clock, lean
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

    from typing_extensions import TypeAlias

#: More addresses than any name needs to be tried at within one deadline.
MAX_ADDRESSES = 8


class Address(NamedTuple):
    """Where to connect or send to, as the socket calls take it."""

    family: int
    sockaddr: Tuple[Any, ...]  # Any: IPv4 has two elements, IPv6 four

    def __str__(self) -> str:
        host, port = self.sockaddr[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


#: Takes a name, blocks as long as it likes, returns addresses without a port; raises OSError.
LookUp: TypeAlias = "Callable[[bytes], Sequence[Address]]"


def system_look_up(host: bytes, flags: int = 0) -> Sequence[Address]:
    """What the system's resolver says. ``host`` is bytes because str would load the IDNA tables."""
    found = _socket.getaddrinfo(host, None, _socket.AF_UNSPEC, _socket.SOCK_STREAM, 0, flags)
    return [Address(family, sockaddr) for family, _, _, _, sockaddr in found]


class _Flight:
    """One look-up under way: everybody who wants that name waits for the same one."""

    def __init__(self) -> None:
        self.landed = lean.Latch()
        self.answer: Union[Tuple[Address, ...], str] = "no answer"


class Resolver:
    """Looks names up, one at a time each. ``look_up`` is the blocking call behind it."""

    def __init__(self, look_up: LookUp = system_look_up) -> None:
        self._look_up = look_up
        self._lock = _thread.allocate_lock()
        self._flights: Dict[bytes, _Flight] = {}

    def resolve(self, host: str, port: int, deadline: float) -> Union[Tuple[Address, ...], str]:
        """The addresses of ``host`` in the order to try them, or the reason why there are none.

        ``deadline`` is a moment of CLOCK_MONOTONIC in seconds; never waits beyond it, never raises.
        """
        name = host.encode("ascii", "replace")
        found = _numeric(name)
        if found is None:
            flight = self._flight(name)
            if not flight.landed.wait(deadline - clock.monotonic()):
                return "the resolver gave no answer in time"
            if isinstance(flight.answer, str):
                return flight.answer
            found = flight.answer
        return tuple(_with_port(address, port) for address in found[:MAX_ADDRESSES])

    def _flight(self, name: bytes) -> _Flight:
        """The look-up of ``name`` that is under way, begun now if there is none."""
        with self._lock:
            flight = self._flights.get(name)
            if flight is None:
                flight = self._flights[name] = _Flight()
                try:
                    self._start(name, flight)
                except RuntimeError:  # no more threads: this look-up is over before it began
                    self._land(name, flight, "no thread could be started for the look-up")
            return flight

    def _start(self, name: bytes, flight: _Flight) -> None:
        def work() -> None:
            try:
                answer: Union[Tuple[Address, ...], str] = tuple(self._look_up(name))
            except (OSError, ValueError) as error:  # ValueError: a name no resolver accepts
                answer = getattr(error, "strerror", None) or str(error)
            with self._lock:
                self._land(name, flight, answer or "it has no address")

        lean.start(work)

    def _land(self, name: bytes, flight: _Flight, answer: Union[Tuple[Address, ...], str]) -> None:
        del self._flights[name]
        flight.answer = answer
        flight.landed.open()


_SHARED = Resolver()


def resolve(host: str, port: int, deadline: float) -> Union[Tuple[Address, ...], str]:
    """As ``Resolver.resolve``, with the one resolver the whole program shares."""
    return _SHARED.resolve(host, port, deadline)


def _numeric(name: bytes) -> Optional[Tuple[Address, ...]]:
    """The address ``name`` spells out, asking nobody; None when it is a name."""
    try:
        return tuple(system_look_up(name, _socket.AI_NUMERICHOST))
    except (OSError, ValueError):
        return None


def _with_port(address: Address, port: int) -> Address:
    host, _, *rest = address.sockaddr
    return Address(address.family, (host, port, *rest))
