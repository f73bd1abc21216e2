"""Owns free loopback ports for the servers that tests start."""

from __future__ import annotations

import socket


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM, host: str = "127.0.0.1") -> int:
    """Return a port nobody listens on at this moment.

    Another program may take it before the test does: start the server, and wait for it to answer.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, kind) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def free_udp_port(host: str = "127.0.0.1") -> int:
    """Return a UDP port nobody is bound to at this moment."""
    return free_port(socket.SOCK_DGRAM, host)
