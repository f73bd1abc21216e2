"""Owns waiting in tests: for a condition, until a deadline. No test sleeps for a fixed time."""

from __future__ import annotations

import time
from typing import Callable, Optional, TypeVar

T = TypeVar("T")


def wait_for(
    condition: Callable[[], Optional[T]],
    *,
    timeout: float = 10.0,
    what: str = "",
    every: float = 0.01,
) -> T:
    """Call ``condition`` until it returns something true, and return that.

    Fails the test after ``timeout`` seconds; ``what`` then says what was waited for.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {timeout} s: {what or condition}")
        time.sleep(every)
