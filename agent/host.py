"""Owns what this host calls itself. A ground module: any may ask."""

from __future__ import annotations

import os

from agent.core.wording import plain

MACHINE_ID = "/etc/machine-id"
#: The longest name Linux has room for, with every byte of it escaped.
_LONGEST = 4 * 64


def host_name() -> str:
    """This host's name as it may be shown and sent: one printable line, never empty.

    The kernel takes any bytes for a name; what is no text in it comes out as escapes.
    """
    return plain(os.uname().nodename, _LONGEST) or "unknown"


def identity(name: str) -> str:
    """What tells this host from all others of a fleet, its clones included.

    Images are cloned with the machine id in them, and containers share the one of their host, so
    the ``name`` of the host is a part of it.
    """
    try:
        with open(MACHINE_ID, encoding="ascii", errors="replace") as source:
            return f"{source.read(64).strip()} {name}"
    except OSError:
        return name
