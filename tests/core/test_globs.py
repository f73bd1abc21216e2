"""Owns the tests of agent.core.globs; the standard library's own matcher is the oracle."""

from __future__ import annotations

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from agent.core.globs import matches

_TEXT = st.text(alphabet="ab.", max_size=8)


@given(st.text(alphabet="ab.*?", max_size=8), _TEXT)
def test_it_agrees_with_the_shell(pattern: str, name: str) -> None:
    assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_many_stars_do_not_blow_up() -> None:
    assert not matches("*a" * 40 + "b", "a" * 5000)
