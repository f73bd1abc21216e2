"""Owns running short of what the system gives, for as long as a test likes."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
from typing import Iterator, Set

from tests.support.waiting import wait_for


def open_files() -> Set[str]:
    """The files that this process has open, each with its number."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the directory itself is closed by now
            found.add(f"{number}: {os.readlink(f'/proc/self/fd/{number}')}")
    return found


@contextlib.contextmanager
def no_file_left() -> Iterator[None]:
    """What is done meanwhile leaves no file open.

    Files are told apart and not counted: one of an earlier test may be closed in between.
    """
    before = open_files()
    yield
    wait_for(lambda: open_files() <= before, what="every file to be closed")


@contextlib.contextmanager
def spare_files(count: int) -> Iterator[None]:
    """Let this process open ``count`` more files and not one beyond that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free, taken = [os.dup(0) for _ in range(count)], []
    try:
        highest = max(free, default=2)
        while (number := os.dup(0)) < highest:  # numbers below it would be spare, too
            taken.append(number)
        os.close(number)
        for number in free:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for number in taken:
            os.close(number)


@contextlib.contextmanager
def no_more_threads() -> Iterator[None]:
    """Let no new thread start: each would want more memory for its stack than there can be."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)
