"""Owns the proofs that a call read without argparse is read as argparse would read it."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, NoReturn, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.commands.check import OPTIONS
from agent.options import PROGRAM, declare, read


class Refused(Exception):
    """argparse would have ended the program."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:
        raise Refused(status, message)

    def print_help(self, file: object = None) -> None:
        """Say nothing."""


def by_argparse(words: List[str]) -> Optional[Dict[str, Any]]:
    """What argparse makes of ``words``; None when it refuses them."""
    parser = Parser()
    declare(parser, OPTIONS)
    try:
        return vars(parser.parse_args(words))
    except Refused:
        return None


_FLAGS = [option.flag for option in OPTIONS]
_words = st.one_of(
    st.sampled_from([*_FLAGS, "--li", "--help", "--", "-", "-5", "", "critical", "x y", "="]),
    st.sampled_from(_FLAGS).map(lambda flag: f"{flag}=warning"),
    st.text(alphabet="-=ac 1é", max_size=4),
)


@given(st.lists(_words, max_size=6))
def test_what_is_read_without_argparse_is_what_argparse_reads(words: List[str]) -> None:
    plainly = read(words, OPTIONS)
    if plainly is not None:
        assert plainly == by_argparse(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--live"],
        ["--live", "--json"],
        ["--redis", "redis://127.0.0.1:6379"],
        ["--redis=redis://127.0.0.1:6379", "--warning=50ms"],
        ["--fail-on", "critical", "--timeout", "3s"],
        ["--live", "--critical", "1s", "--critical", "2s"],
    ],
)
def test_a_plain_call_needs_no_argparse(words: List[str]) -> None:
    assert read(words, OPTIONS) is not None


@pytest.mark.parametrize(
    "words",
    [
        ["--liv"],
        ["--help"],
        ["--live=yes"],
        ["--redis"],
        ["--redis", "--live"],
        ["--redis="],
        ["--fail-on", "never"],
        ["live"],
        ["--", "--live"],
    ],
)
def test_any_other_call_is_left_to_argparse(words: List[str]) -> None:
    assert read(words, OPTIONS) is None


def test_the_configuration_is_named_before_the_verb() -> None:
    assert read(["--config", "/etc/x.yaml"], PROGRAM) == {"config": "/etc/x.yaml"}
    assert read([], PROGRAM) == {"config": None}
