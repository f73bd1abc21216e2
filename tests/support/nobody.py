"""Owns running something as a user without any rights, in a process of its own."""

from __future__ import annotations

import os
from typing import Callable

from tests.support import needs

_NOBODY = 65534


def as_nobody(work: Callable[[], str]) -> str:
    """Return what ``work`` returns when the user nobody does it. Needs root.

    The process is forked, not started anew: nobody may not read the project or its Python.
    """
    needs.root()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            os.write(send, work().encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, encoding="utf-8") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said
