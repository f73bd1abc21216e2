"""Owns matching names against shell patterns, in time that no pattern can blow up."""

from __future__ import annotations


def matches(pattern: str, name: str) -> bool:
    """True when ``name`` as a whole fits ``pattern``: ``*`` is any run, ``?`` any one character."""
    at, star, resume = 0, -1, 0
    position = 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[position]):
            at += 1
            position += 1
        elif star >= 0:  # let the last star take one character more
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")
