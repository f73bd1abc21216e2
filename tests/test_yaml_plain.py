"""Owns the proofs that what is read without PyYAML is what PyYAML reads."""

from __future__ import annotations

from typing import List, Tuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent import settings_text, yaml_plain, yaml_tree
from agent.core.settings import Config


def assert_same(text: str) -> None:
    """What is read plainly is what PyYAML reads, which has nothing to say against the text."""
    plain = yaml_plain.parse(text)
    if plain is not None:
        assert yaml_tree.parse(text) == (plain, [])


def uncommented(sample: str) -> str:
    """The sample file with every setting in force."""
    lines = sample.split("\n")
    return "\n".join(
        line[1:] if line.startswith("#") and not line.startswith("##") else line for line in lines
    )


SAMPLE = uncommented(settings_text.sample())
_PIECES = st.sampled_from(
    [
        *("a", "b1", "x-y", "5m", "null", "true", "redis://h:6379", "key: v\n", "k:\n  a: b\n"),
        *("\n", "\n  ", "\n    ", "\n\n", " ", ":", ": ", ":\n", "- ", "\n- ", "- n: x\n  u: y\n"),
        *("#", " # c", "'", '"', "''", '"q r"', "[", "]", "{", "}", ",", "[a, b]", "{a: b, c: d}"),
        *("-", "--", "---", "...", "&", "*", "!", "|", ">", "%", "~", "\\", "=", "<<", "? ", "\t"),
        *(".", "(x)", "\r\n", "\0", "\ufeff", "\u2028", "\u00e9"),
    ]
)


@settings(max_examples=2000)
@given(st.lists(_PIECES, max_size=20).map("".join))
@example("a: b\n  c")
@example("a: b: c")
@example("a: 'b' # it's\n")
@example("- a: b\n")
@example("a:\n - b\n  c: d\n")
@example("a: [b, b:]")
@example("a: {b: c, b: d}")
@example("a: -\n")
@example(" a: b\n")
@example("# nothing\n")
def test_a_text_is_read_as_pyyaml_reads_it_or_left_to_it(text: str) -> None:
    assert_same(text)


@settings(max_examples=500)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE)), _PIECES), max_size=3))
def test_a_configuration_with_slips_is_read_as_pyyaml_reads_it(
    slips: List[Tuple[int, str]],
) -> None:
    text = SAMPLE
    for place, piece in slips:
        text = text[:place] + piece + text[place + 1 :]
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "interval: 5m\n",
        "interval: 5m  # five minutes\n",
        "references:\n- name: locks\n  url: redis://:pa:ss@h:6379/0\n",
        "references:\n  - name: locks\n    url: redis://h:6379\n\n  # the other\n  - name: 'jobs'\n"
        '    url: "unix:///run/redis.sock"\n',
        "statsd:\n  tags: {role: db, site: fra1}\nalerts: []\ntags: {}\n",
        "alerts:\n  - type: command\n    argv: [/usr/local/bin/page, --now]\n",
        "chrony:\nservice:\n  unit: auto\n",
        SAMPLE,
        settings_text.show(Config()),
    ],
)
def test_what_people_write_needs_no_pyyaml(text: str) -> None:
    assert yaml_plain.parse(text) is not None
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n",
        "a: *b\n",
        "a: &b c\n",
        "a: |\n  text\n",
        "a: b\n  c\n",
        "a: b\na: c\n",
        "<<: {a: b}\n",
        'a: "\\u00e9"\n',
        "---\na: b\n",
        "a: b\r\n",
        "\ta: b\n",
        "a: \u00e9\n",
        "x:\n" + "".join(f"{' ' * depth}k:\n" for depth in range(1, 20)),
    ],
)
def test_anything_else_is_left_to_pyyaml(text: str) -> None:
    assert yaml_plain.parse(text) is None
