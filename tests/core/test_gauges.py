"""Which gauges a cycle sends, and which it must not send."""

from __future__ import annotations

from typing import Dict

import pytest

from agent.core.gauges import Snapshot, gauges
from agent.core.model import Verdict
from tests.support.samples import A_SERVICE, a_miss, a_reading, a_snapshot, alerting


def sent(snapshot: Snapshot) -> Dict[str, float]:
    return {".".join(gauge.name): gauge.value for gauge in gauges(snapshot)}


def test_a_slow_clock_has_a_positive_magnitude_and_a_negative_sign() -> None:
    found = sent(a_snapshot(a_reading(-0.005)))
    assert found["offset_ms"] == pytest.approx(5)
    assert found["signed_offset_ms"] == pytest.approx(-5)
    assert found["uncertainty_ms"] == pytest.approx(0.1)
    assert found["offset_known"] == 1


def test_an_unknown_offset_sends_no_offset_and_says_so() -> None:
    found = sent(a_snapshot(a_miss()))
    assert found["offset_known"] == 0
    assert found["synchronised"] == 0
    assert found["source.chronyd.up"] == 0
    assert not [name for name in found if name.endswith("_ms")]


def test_every_source_has_gauges_of_its_own() -> None:
    found = sent(a_snapshot(a_reading(0.001), a_reading(-2.0, "locks"), a_miss("cache")))
    assert found["source.chronyd.signed_offset_ms"] == pytest.approx(1)
    assert found["source.locks.signed_offset_ms"] == pytest.approx(-2000)
    assert found["source.locks.offset_ms"] == pytest.approx(2000)
    assert (found["source.locks.up"], found["source.cache.up"]) == (1, 0)


def test_the_age_of_the_last_reading_grows_while_there_is_none() -> None:
    assert sent(a_snapshot(a_miss(), last_reading_at=40.0))["reading_age_s"] == 62.5
    assert "reading_age_s" not in sent(a_snapshot(a_miss()))


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.WARNING, Verdict.CRITICAL])
def test_a_service_is_ok_only_when_that_was_shown(verdict: Verdict) -> None:
    snapshot = a_snapshot(a_reading(0.0))
    assert sent(snapshot)["service_ok"] == 1
    worse = snapshot.observations._replace(service=A_SERVICE._replace(verdict=verdict))
    assert sent(snapshot._replace(observations=worse))["service_ok"] == 0


def test_what_is_switched_off_has_no_gauge() -> None:
    found = sent(a_snapshot())
    assert "synchronised" in sent(a_snapshot(a_miss()))
    assert "synchronised" not in found
    nothing = a_snapshot().observations._replace(service=None)
    assert "service_ok" not in sent(a_snapshot(observations=nothing))


@pytest.mark.parametrize(
    ("verdict", "level"),
    [(Verdict.OK, 0), (Verdict.UNKNOWN, 1), (Verdict.WARNING, 1), (Verdict.CRITICAL, 2)],
)
def test_the_alert_gauge_is_what_people_were_told(verdict: Verdict, level: int) -> None:
    found = sent(a_snapshot(a_reading(0.0), standings=alerting("sync", verdict)))
    assert found["alert.sync"] == level


def test_the_verdict_is_the_exit_code() -> None:
    snapshot = a_snapshot(a_reading(0.0))
    for verdict in Verdict:
        findings = (snapshot.assessment.findings[0]._replace(verdict=verdict),)
        judged = snapshot.assessment._replace(findings=findings)
        assert sent(snapshot._replace(assessment=judged))["verdict"] == verdict.exit_code


def test_a_drift_and_the_store_appear_once_they_are_known() -> None:
    before = sent(a_snapshot(a_reading(0.0)))
    assert "drift_ppm" not in before
    assert "store_ok" not in before
    after = sent(a_snapshot(a_reading(0.0), drift_ppm=-1389.0, store_ok=False))
    assert (after["drift_ppm"], after["store_ok"]) == (-1389.0, 0)
