"""Owns the written form of a StatsD address: host:port, [v6]:port, or a unix datagram socket."""

from __future__ import annotations

from agent.core.typed import NamedTuple

_LONGEST_PATH = 107  # sun_path of a unix socket, without its final NUL


class Address(NamedTuple):
    """Where datagrams go: either ``path`` (a unix socket), or ``host`` and ``port``."""

    host: str = ""
    port: int = 0
    path: str = ""


def parse_address(text: str) -> Address:
    """Read ``host:port``, ``[v6]:port``, ``/path`` or ``unix:///path``.

    Raises ValueError with a sentence that says what is wrong and what is accepted.
    """
    path = text[len("unix://") :] if text.startswith("unix://") else text
    if path.startswith("/"):
        if len(path.encode("utf-8", "replace")) > _LONGEST_PATH:
            raise ValueError(f"the socket path is longer than {_LONGEST_PATH} bytes")
        return Address(path=path)
    host, colon, port = text.rpartition(":")
    if "://" in text or not colon:
        raise ValueError(f"'{text}' is not host:port, [v6]:port, /path or unix:///path")
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise ValueError(f"'{text}' has no port from 1 to 65535 after its last ':'")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"'{text}' needs brackets around its IPv6 address: [{host}]:{port}")
    if not host or any(character.isspace() or character in "/[]@" for character in host):
        raise ValueError(f"'{text}' has no usable host before its port")
    return Address(host=host, port=int(port))
