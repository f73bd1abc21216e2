from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any, Mapping, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.judge import assess
from agent.core.model import (
    Assessment,
    Finding,
    Observations,
    Policy,
    Protect,
    Trend,
    Verdict,
)
from agent.core.report import DAEMON, LIVE, Report, as_dict, text
from tests.support.values import chronyd, miss, redis, seen, service

POLICY = Policy(offset_warning=0.1, offset_critical=2.0)
STATUS_WORDS = {0: "OK", 1: "WARNING", 2: "CRITICAL", 3: "UNKNOWN"}

HEALTHY = seen(chronyd(0.000013), redis(-0.0002, 0.0004), state=service())
STATES: dict[str, Observations] = {
    "healthy": HEALTHY,
    "chronyd not running": seen(miss(), state=service(Verdict.CRITICAL, "inactive")),
    "chronyd hung": seen(miss(cause="hung"), state=service()),
    "never synchronised": seen(miss(cause="never-synchronised"), state=service()),
    "booting": seen(miss(cause="never-synchronised"), state=service(), boottime=20.0),
    "5 s slow": seen(chronyd(-5.0), state=service()),
    "5 s fast": seen(chronyd(5.0), state=service()),
    "a little fast": seen(chronyd(0.15), state=service()),
    "imprecise": seen(chronyd(0.0, 3.0), state=service()),
    "Redis 22 min off": seen(chronyd(0.0), redis(1320.0), state=service()),
    "chronyd down, Redis agrees": seen(miss(), redis(0.0), state=service()),
    "Redis refused": seen(chronyd(0.0), miss("locks", "refused"), state=service()),
    "service unknown": seen(chronyd(0.0), state=service(Verdict.UNKNOWN, "unreachable")),
    "nothing asked": seen(None),
    "not a number": seen(chronyd(math.nan, math.inf), redis(math.inf)),
}


def report(observations: Observations, policy: Policy = POLICY) -> Report:
    return Report(
        host="worker-b12",
        taken_at=1787538134.0,
        origin=LIVE,
        assessment=assess(policy, observations),
        observations=observations,
        policy=policy,
    )


# label=value[unit];[warn];[crit];[min];[max], separated by one space: the plugin guidelines
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_ITEM = re.compile(
    rf"(?P<label>[^\s='|]+)=(?P<value>{_NUMBER})(?P<unit>us|ms|s|%|B|KB|MB|TB|c)?"
    rf"(?:;(?P<warn>{_NUMBER})?)?(?:;(?P<crit>{_NUMBER})?)?(?:;(?:{_NUMBER})?)?(?:;(?:{_NUMBER})?)?"
)


def performance(output: str) -> dict[str, re.Match[str]]:
    """The performance data of a plugin's output, read the way Nagios reads it."""
    first, *rest = output.splitlines()
    assert not any("|" in line for line in rest)
    said, bar, data = first.partition("|")
    assert bool(bar) == bool(data)
    assert "|" not in data
    found = {}
    for item in data.split(" ") if data else []:
        match = _ITEM.fullmatch(item)
        assert match is not None, item
        found[match["label"]] = match
    return found


@pytest.mark.parametrize("state", STATES)
def test_the_state_word_and_the_exit_status_agree(state: str) -> None:
    made = report(STATES[state])
    word = STATUS_WORDS[made.assessment.verdict.exit_code]
    assert text(made).startswith(f"CLOCK {word} - ")
    assert as_dict(made)["exit_code"] == made.assessment.verdict.exit_code


def test_the_state_word_and_the_exit_status_agree_for_all_combinations_of_verdicts() -> None:
    names = ("service", "sync", "offset", "reference", "drift")
    for verdicts in itertools.product(Verdict, repeat=len(names)):
        findings = tuple(
            Finding(condition=name, verdict=verdict, cause=f"{name}-cause", summary=f"{name} is so")
            for name, verdict in zip(names, verdicts)
        )
        made = report(HEALTHY)._replace(assessment=Assessment(findings=findings, best=None))
        first = text(made).splitlines()[0]
        assert first.split()[1] == STATUS_WORDS[max(verdicts).exit_code]
        if max(verdicts) is not Verdict.OK:
            worst = names[verdicts.index(max(verdicts))]
            assert f"{worst} {worst}-cause: {worst} is so" in first


def test_no_condition_at_all_is_unknown() -> None:
    nothing = report(HEALTHY)._replace(assessment=Assessment(findings=(), best=None))
    assert text(nothing).startswith("CLOCK UNKNOWN - nothing is configured")


def test_a_healthy_host_states_both_readings_with_sign_word_and_error_bound() -> None:
    assert text(report(HEALTHY)) == (
        "CLOCK OK - chronyd: +0.013 ms ahead (fast), error at most 0.313 ms;"
        " Redis locks: -0.200 ms behind (slow), error at most 0.600 ms"
        "|offset=0.013ms;100;2000 uncertainty=0.3ms\n"
        "service OK active: chrony.service is active\n"
        "sync OK synchronised: chronyd is synchronised and its measurements are fresh\n"
        "offset OK within-limits: chronyd: +0.013 ms ahead (fast), error at most 0.313 ms;"
        " Redis locks: -0.200 ms behind (slow), error at most 0.600 ms\n"
        "reference OK answering: Redis locks answered\n"
        "chrony.service: loaded, active, running, enabled\n"
        "chronyd: +0.013 ms ahead (fast) +/- 0.300 ms, error at most 0.313 ms\n"
        "Redis locks: -0.200 ms behind (slow) +/- 0.400 ms, error at most 0.600 ms\n"
    )


def test_what_the_daemon_read_says_when_and_how_to_read_now() -> None:
    told = text(report(HEALTHY)._replace(origin=DAEMON))
    assert told == (
        text(report(HEALTHY)) + "read by the daemon at 2026-08-24T02:22:14.000Z; --live reads now\n"
    )


def test_a_fault_is_told_with_its_remedy_and_each_remedy_once() -> None:
    observations = seen(miss(), redis(-1320.0), state=service(Verdict.CRITICAL, "masked"))
    policy = POLICY._replace(protects=(Protect("payouts", 1200.0),))
    lines = text(report(observations, policy)).splitlines()
    assert lines[0].startswith("CLOCK CRITICAL - service masked: chrony.service is masked; sync")
    assert lines[1:] == [
        "service CRITICAL masked: chrony.service is masked",
        "sync CRITICAL not-running: chronyd is not running; nobody vouches for this clock",
        "offset CRITICAL behind: this clock is -1320000.0 ms (22 min) behind (slow) according to"
        " Redis locks, error at most 1320000.3 ms (22 min) (above the critical limit of 2 s)",
        "reference OK answering: Redis locks answered",
        "chrony.service: loaded, active, running, enabled",
        "chronyd: no reading (not-running): chronyd is not running.",
        "Redis locks: -1320000.0 ms (22 min) behind (slow) +/- 0.300 ms,"
        " error at most 1320000.3 ms (22 min)",
        "an error of up to 1320000.3 ms (22 min), by Redis locks, uses 110 % of the"
        " 20 min margin of payouts",
        "to do (service): stop the workers before `chronyc makestep` or starting chronyd:"
        " this clock will move 22 min forward",
        "to do (service): cure masked",
        "to do (offset): bring the time service back first (conditions service and sync):"
        " it corrects this clock",
    ]


@pytest.mark.parametrize("state", STATES)
def test_the_performance_data_can_be_read_in_every_state(state: str) -> None:
    made = report(STATES[state])
    data = performance(text(made))
    best = made.assessment.best
    if best is None:
        assert data == {}
    else:
        assert float(data["offset"]["value"]) == pytest.approx(best.offset * 1000, abs=1e-6)
        assert (data["offset"]["unit"], data["uncertainty"]["unit"]) == ("ms", "ms")
        assert (data["offset"]["warn"], data["offset"]["crit"]) == ("100", "2000")


@pytest.mark.parametrize(
    ("offset", "digits"),
    [(-5.0, "-5000"), (5.0, "5000"), (1e-9, "0.000001"), (-1e-12, "0"), (4e9, "4000000000000")],
)
def test_the_offset_keeps_its_sign_and_has_no_exponent(offset: float, digits: str) -> None:
    assert performance(text(report(seen(chronyd(offset)))))["offset"]["value"] == digits


def test_thresholds_of_the_command_line_are_the_ones_told() -> None:
    policy = POLICY._replace(offset_warning=0.0005, offset_critical=0.25)
    data = performance(text(report(HEALTHY, policy)))
    assert (data["offset"]["warn"], data["offset"]["crit"]) == ("0.5", "250")


@pytest.mark.parametrize("state", ["chronyd not running", "never synchronised", "nothing asked"])
def test_an_unknown_offset_is_nowhere_a_zero(state: str) -> None:
    made = report(STATES[state])
    assert not re.search(r"\b0(\.0+)? ?ms", text(made))
    document = as_dict(made)
    assert document["offset_ms"] is None
    assert document["uncertainty_ms"] is None


@given(st.text(max_size=900), st.text(max_size=900))
def test_text_from_outside_can_neither_forge_lines_nor_performance_data(
    what: str, advice: str
) -> None:
    state = service(Verdict.CRITICAL)._replace(what=what, unit=what, advice=(advice,))
    chrony = miss()._replace(what=what, advice=(advice,))
    output = text(report(seen(chrony, redis(0.0), state=state)))
    plain = text(report(seen(miss(), redis(0.0), state=service(Verdict.CRITICAL))))
    assert set(performance(output)) == {"offset", "uncertainty"}
    assert output.endswith("\n")
    lines = output[:-1].split("\n")
    assert all(line.isprintable() and len(line) <= 700 for line in lines)
    assert len(lines) <= len(plain[:-1].split("\n"))


SCHEMA_KEYS = """schema host taken_at origin verdict exit_code summary offset_ms uncertainty_ms
readings service conditions drift_ppm protects daemon"""
READING_KEYS = "source trusted offset_ms uncertainty_ms verdict cause detail"
SERVICE_KEYS = "unit load_state active_state sub_state unit_file_state verdict cause"
CONDITION_KEYS = "name verdict cause summary advice"
PROTECT_KEYS = "name margin_ms used_percent left_s"


def has_keys(mapping: Mapping[str, object], keys: str) -> bool:
    return list(mapping) == keys.split()


@pytest.mark.parametrize("state", STATES)
def test_the_json_document_has_the_same_keys_in_every_state(state: str) -> None:
    document = json.loads(json.dumps(as_dict(report(STATES[state])), allow_nan=False))
    assert has_keys(document, SCHEMA_KEYS)
    assert all(has_keys(reading, READING_KEYS) for reading in document["readings"])
    assert all(has_keys(condition, CONDITION_KEYS) for condition in document["conditions"])
    assert all(has_keys(protect, PROTECT_KEYS) for protect in document["protects"])
    assert document["service"] is None or has_keys(document["service"], SERVICE_KEYS)


def test_the_json_document_says_what_the_text_says() -> None:
    observations = seen(
        miss()._replace(detail={"stratum": 0, "skew": math.inf}), redis(-5.0), state=service()
    )
    document: dict[str, Any] = as_dict(report(observations))
    assert document["schema"] == 1
    assert document["host"] == "worker-b12"
    assert document["taken_at"] == "2026-08-24T02:22:14.000Z"
    assert document["origin"] == "live"
    assert (document["verdict"], document["exit_code"]) == ("critical", 2)
    assert document["summary"] in text(report(observations))
    assert (document["offset_ms"], document["uncertainty_ms"]) == (-5000.0, 0.3)
    assert document["readings"] == [
        {
            "source": "chronyd",
            "trusted": False,
            "offset_ms": None,
            "uncertainty_ms": None,
            "verdict": "unknown",
            "cause": "not-running",
            "detail": {"stratum": 0, "skew": None},
        },
        {
            "source": "locks",
            "trusted": True,
            "offset_ms": -5000.0,
            "uncertainty_ms": 0.3,
            "verdict": "critical",
            "cause": None,
            "detail": {},
        },
    ]
    assert document["service"] == {
        "unit": "chrony.service",
        "load_state": "loaded",
        "active_state": "active",
        "sub_state": "running",
        "unit_file_state": "enabled",
        "verdict": "ok",
        "cause": "active",
    }
    sync = next(c for c in document["conditions"] if c["name"] == "sync")
    assert (sync["verdict"], sync["cause"]) == ("critical", "not-running")
    assert sync["advice"][-1] == "cure not-running"


def test_the_json_document_says_what_is_left_of_every_margin() -> None:
    policy = POLICY._replace(protects=(Protect("payouts", 1200.0),))
    drifting = Trend("locks", 1389.0, 1384.0, 1394.0, 0.417, 0.0003, 300.0)
    observations = seen(miss(), redis(0.417))._replace(trends=(drifting,))
    document = as_dict(report(observations, policy))
    assert document["drift_ppm"] == 1389.0
    assert document["protects"] == [
        {
            "name": "payouts",
            "margin_ms": 1200000.0,
            "used_percent": 0.035,
            "left_s": pytest.approx((1200 - 0.417) / 1389e-6),
        }
    ]
    assert as_dict(report(HEALTHY, policy))["drift_ppm"] is None


@pytest.mark.parametrize(("unit", "shown"), [("", None), ("chrony.service", "chrony.service")])
def test_what_systemd_did_not_say_is_null(unit: str, shown: Optional[str]) -> None:
    state = service()._replace(unit=unit, sub_state="")
    told = as_dict(report(seen(chronyd(0.0), state=state)))["service"]
    assert told["unit"] == shown
    assert told["sub_state"] is None
