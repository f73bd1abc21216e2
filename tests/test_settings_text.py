"""Settings written out: the sample and the configuration in force are files that load."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import config as configuration
from agent import sinks
from agent.core.model import Policy, Protect, Verdict
from agent.core.quantities import parse_duration
from agent.core.settings import (
    AlertSettings,
    ChronySettings,
    Config,
    HistorySettings,
    PathSettings,
    ReferenceSettings,
    ServiceSettings,
    StatsdSettings,
)
from agent.settings_lists import ALERT, SINKS
from agent.settings_rows import Records, Section, Setting
from agent.settings_table import TABLE
from agent.settings_text import sample, scalar, show


def load(directory: Path, text: str) -> Config:
    path = directory / "config.yaml"
    path.write_text(text)
    return configuration.load(str(path)).config


def test_the_sample_as_it_is_means_the_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, sample())
    assert config == Config(source=config.source)


def test_the_sample_with_all_its_settings_in_force_is_valid(tmp_path: Path) -> None:
    config = load(tmp_path, re.sub(r"(?m)^#(?!#)", "", sample()))

    assert [alert.type for alert in config.alerts] == list(SINKS)
    assert config.references[0].url == "redis://lock-store.internal:6379"
    plain = Config(source=config.source)
    assert config._replace(references=(), alerts=plain.alerts, policy=plain.policy) == plain
    assert config.policy._replace(protects=()) == plain.policy


def test_the_sample_has_every_key_of_the_table() -> None:
    text = sample()
    for row in TABLE:
        assert f"\n#{row.name}:" in text
        for below in () if isinstance(row, Setting) else row.rows:
            assert re.search(rf"\n#  [ -] ?{below.name}: |\n#  {below.name}: ", text), below.name


def test_no_line_of_the_sample_is_too_long_for_a_terminal() -> None:
    assert max(len(line) for line in sample().splitlines()) <= 100


def test_every_way_of_telling_has_a_table_and_every_table_a_way() -> None:
    assert list(SINKS) == list(sinks.SINKS)


def test_sections_hold_exactly_the_settings_the_program_knows() -> None:
    fields: Dict[str, Any] = {
        "chrony": ChronySettings,
        "service": ServiceSettings,
        "references": ReferenceSettings,
        "statsd": StatsdSettings,
        "protects": Protect,
        "history": HistorySettings,
        "paths": PathSettings,
    }
    for row in TABLE:
        if isinstance(row, (Section, Records)) and row.name in fields:
            assert tuple(below.name for below in row.rows) == fields[row.name]._fields
    assert {row.name for row in ALERT} == {*AlertSettings._fields} - {"options"}


def test_what_is_in_force_is_shown_without_secrets(tmp_path: Path) -> None:
    secret = "hunter2"
    text = f"""\
references:
- name: locks
  url: redis://user:{secret}@lock-store:6379
alerts:
- type: webhook
  url: https://hooks.example/services/{secret}
  headers: {{Authorization: Bearer {secret}}}
"""
    shown = show(load(tmp_path, text))

    assert secret not in shown
    assert "url: redis://user:***@lock-store:6379" in shown.replace('"', "")
    assert "url: https://hooks.example/***" in shown.replace('"', "")
    assert "headers: {Authorization: " in shown


@pytest.mark.parametrize(
    "text", ["no", "~", "a: b", "5m # x", "", " x", "-", "ü", '"', "x:", "[a]"]
)
def test_a_text_that_yaml_would_misread_is_quoted(tmp_path: Path, text: str) -> None:
    config = load(tmp_path, f"protects: [{{name: {scalar(text or 'x')}, margin: 1m}}]")
    assert config.policy.protects[0].name == (text or "x")
    assert scalar("") == '""'


_MS = st.integers(min_value=1, max_value=86_400_000).map(lambda n: n / 1000)
_TEXTS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20)
_NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,15}", fullmatch=True)
_TAGS = st.dictionaries(_NAMES, _TEXTS, max_size=3)
_PATHS = _NAMES.map(lambda name: f"/srv/{name}")


def _unique(items: Any) -> Any:
    return st.lists(items, max_size=3, unique_by=lambda item: item.name.lower()).map(tuple)


_POLICIES = st.builds(
    lambda pair, **rest: Policy(offset_warning=pair[0], offset_critical=pair[1], **rest),
    st.tuples(_MS, _MS).filter(lambda pair: pair[0] != pair[1]).map(lambda p: tuple(sorted(p))),
    consecutive=st.integers(1, 100),
    grace=_MS,
    max_drift_ppm=st.integers(0, 10**8).map(lambda n: n / 1000),
)
_CONFIGS = st.builds(
    lambda pair, **rest: Config(interval=pair[1], confirm_interval=pair[0], **rest),
    st.tuples(_MS, _MS).map(sorted).filter(lambda pair: pair[0] >= 0.1),
    policy=_POLICIES,
    chrony=st.builds(
        partial(ChronySettings),
        enabled=st.booleans(),
        program=_PATHS,
        address=st.none() | _NAMES.filter(lambda name: name not in ("null", "on", "no", "n", "y")),
        max_age=st.none() | _MS.filter(lambda seconds: seconds >= 1),
    ),
    references=_unique(
        st.builds(
            partial(ReferenceSettings),
            name=_NAMES,
            url=st.just("redis://host:6379"),
            password_file=st.none(),
            samples=st.integers(1, 50),
            ca_file=st.none() | _PATHS,
        )
    ),
    statsd=st.builds(
        partial(StatsdSettings),
        enabled=st.booleans(),
        address=st.sampled_from(["[::1]:8125", "/run/x", "h:1"]),
        tags=_TAGS,
    ),
    alerts=_unique(
        st.builds(
            partial(AlertSettings),
            type=st.just("command"),
            name=_NAMES,
            min_severity=st.sampled_from([Verdict.UNKNOWN, Verdict.WARNING, Verdict.CRITICAL]),
            tags=_TAGS,
            options=st.lists(_TEXTS, max_size=3).map(lambda more: {"argv": ("/bin/x", *more)}),
        )
    ),
    history=st.builds(
        partial(HistorySettings),
        retention=_MS.filter(lambda seconds: seconds >= 3600),
        max_size=st.integers(1024**2, 1024**4),
    ),
    paths=st.builds(PathSettings, state=_PATHS, runtime=_PATHS),
    tags=_TAGS,
)


@given(_CONFIGS)
def test_what_is_shown_loads_as_what_is_in_force(tmp_path_factory: Any, config: Config) -> None:
    loaded = load(tmp_path_factory.getbasetemp(), show(config))
    assert loaded._replace(source=None) == config


def test_durations_in_the_table_are_shown_as_people_write_them() -> None:
    assert "#interval: 5m\n" in sample()
    assert parse_duration("5m") == Config().interval
