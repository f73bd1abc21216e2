"""Owns looking whether the StatsD server is there, without sending it anything."""

from __future__ import annotations

import socket

from agent import clock
from agent.core.address import Address, parse_address
from agent.core.diagnosis import Diagnosis
from agent.core.model import Verdict
from agent.core.settings import StatsdSettings
from agent.resolve import Resolver

TOPIC = "statsd"
#: Seconds for the look-up of its name.
LOOK_UP = 2.0
_WHY = "The gauges of this host are missing from every graph and every alert built on them."
_UDP_TABLES = ("/proc/net/udp", "/proc/net/udp6")
_SWITCH = "# start the StatsD server there, or set statsd.address, or statsd.enabled: false"


def look(settings: StatsdSettings) -> Diagnosis:
    """Whether gauges will arrive, as far as it can be known from here. Never raises."""
    address = parse_address(settings.address)
    trouble = _socket_trouble(address.path) if address.path else _name_trouble(address)
    if trouble:
        return Diagnosis(
            TOPIC,
            "unreachable",
            Verdict.WARNING,
            f"{settings.address}: {trouble}",
            _WHY,
            (_SWITCH,),
        )
    if not address.path and _loopback(address.host) and not _bound(address.port):
        seen = f"nothing on this host listens at {settings.address}"
        return Diagnosis(TOPIC, "nobody-listens", Verdict.OK, seen, _WHY, (_SWITCH,))
    return Diagnosis(TOPIC, "well", Verdict.OK, f"gauges go to {settings.address}")


def _socket_trouble(path: str) -> str:
    """Connecting a datagram socket sends nothing; it fails when nobody has bound the other end."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect(path)
    except OSError as error:
        return error.strerror or "cannot be connected"
    return ""


def _name_trouble(address: Address) -> str:
    found = Resolver().resolve(address.host, address.port, clock.monotonic() + LOOK_UP)
    return found if isinstance(found, str) else ""


def _loopback(host: str) -> bool:
    return host.startswith("127.") or host in ("::1", "localhost")


def _bound(port: int) -> bool:
    """True when some socket of this host is bound to the UDP port, or when that is not known."""
    readable = False
    for table in _UDP_TABLES:
        try:
            with open(table, encoding="ascii", errors="replace") as lines:
                readable = True
                local = [address for line in lines for address in line.split()[1:2]]
                if any(address.endswith(f":{port:04X}") for address in local):
                    return True
        except OSError:
            continue
    return not readable
