"""Owns the tests of doctor's own judgement, and of how its list is told."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import diagnosis, doctor, image_judge, judge, rivals
from agent.core.diagnosis import Diagnosis
from agent.core.files import Entry
from agent.core.image import Image
from agent.core.model import Finding, Observations, Policy, ServiceState, Verdict
from agent.core.service_view import Program
from tests.support.values import miss

WELL = ServiceState(
    "chrony.service", "loaded", "active", "running", "enabled", Verdict.OK, "active", "fine"
)
AGENT = WELL._replace(unit="clock-agent.service")


def found(verdict: Verdict, **more: Any) -> Diagnosis:
    return Diagnosis("service", "x", verdict, "seen")._replace(**more)


def test_the_worst_comes_first_and_notes_before_what_is_well() -> None:
    note = Diagnosis("a", "note", Verdict.OK, "seen", remedy=("# better",))
    mixed = [found(Verdict.OK), note, found(Verdict.UNKNOWN), found(Verdict.CRITICAL)]
    assert [each.cause for each in diagnosis.ordered(mixed)] == ["x", "x", "note", "x"]
    assert diagnosis.ordered(mixed)[0].verdict is Verdict.CRITICAL


def test_nothing_looked_at_is_nothing_known() -> None:
    assert diagnosis.worst(()) is Verdict.UNKNOWN


def test_a_note_does_not_spoil_a_clean_bill() -> None:
    note = Diagnosis("a", "note", Verdict.OK, "seen", remedy=("# better",))
    assert diagnosis.worst((note,)) is Verdict.OK
    assert diagnosis.text("host", (note,)).startswith("host: nothing to mend\nnote a note: seen\n")


def test_control_characters_from_outside_do_not_reach_the_terminal() -> None:
    told = diagnosis.text("host", (found(Verdict.WARNING, seen="a\033[31mb\nCRITICAL c"),))
    assert "\033" not in told
    assert len(told.splitlines()) == 2


def test_what_the_disk_says_is_only_news_while_systemd_says_all_is_well() -> None:
    on_disk = [found(Verdict.CRITICAL)]
    (told,) = doctor.disk_against_memory(WELL, on_disk)
    assert told.verdict is Verdict.WARNING
    masked = WELL._replace(verdict=Verdict.CRITICAL, cause="masked")
    assert list(doctor.disk_against_memory(masked, on_disk)) == []
    assert list(doctor.disk_against_memory(None, on_disk)) == []
    other = WELL._replace(unit="systemd-timesyncd.service")
    assert list(doctor.disk_against_memory(other, on_disk)) == []


def test_what_may_not_be_read_on_disk_is_unknown_and_no_fault() -> None:
    (told,) = doctor.disk_against_memory(WELL, [found(Verdict.UNKNOWN)])
    assert told.verdict is Verdict.UNKNOWN


def test_a_mask_is_told_with_its_file_and_a_remedy_only_once() -> None:
    state = WELL._replace(
        verdict=Verdict.CRITICAL, cause="masked", what="it is masked", advice=("unmask it",)
    )
    seen = Observations(miss("chronyd", "not-running"), state, (), 1e6, ())
    masks = {"/etc/x": "/etc/x (made in May)"}
    told = {e.topic: e for e in doctor.conditions(judge.assess(Policy(), seen), seen, masks)}
    assert told["service"].seen == "it is masked: /etc/x (made in May)"
    assert told["service"].where == ("/etc/x",)
    assert told["service"].remedy[-1] == "# unmask it"
    assert told["sync"].remedy == ("# the same as for service",)


@pytest.mark.parametrize("condition", ["service", "sync", "offset", "reference", "drift"])
@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.OK])
def test_whatever_is_wrong_it_is_said_why_it_matters(condition: str, verdict: Verdict) -> None:
    assert doctor.why(Finding(condition, verdict, "x", "seen")).endswith(".")


def test_a_daemon_that_the_service_finding_has_named_is_not_named_twice() -> None:
    rival = Program(7, "ntpd", "ntpd", "S", unit="ntpsec.service")
    (told,) = rivals.disciplining([rival], WELL)
    assert told.remedy == ("systemctl disable --now ntpsec.service",)
    known = WELL._replace(cause="second-discipliner", verdict=Verdict.WARNING)
    assert list(rivals.disciplining([rival], known)) == []


@pytest.mark.parametrize(
    ("name", "arguments", "answer", "causes"),
    [
        ("vmtoolsd", (), "Enabled\n", ["second-discipliner"]),
        ("vmtoolsd", (), "Disabled\n", []),
        ("vmtoolsd", (), "", ["guest-tools"]),
        ("VBoxService", (), "", ["second-discipliner"]),
        ("VBoxService", ("VBoxService", "--disable-timesync"), "", []),
        ("prltoolsd", (), "", ["guest-tools"]),
    ],
)
def test_guest_tools_are_a_fault_only_where_they_are_seen_to_set_the_clock(
    name: str, arguments: Tuple[str, ...], answer: str, causes: List[str]
) -> None:
    told = list(rivals.guests([rivals.Guest(Program(7, name), arguments, answer)]))
    assert [each.cause for each in told] == causes
    assert all(name in each.seen and each.remedy for each in told)
    faults = [each for each in told if each.verdict is Verdict.WARNING]
    assert [each.cause for each in faults] == [c for c in causes if c != "guest-tools"]


@pytest.mark.parametrize(
    ("facts", "cause", "verdict"),
    [
        (doctor.AgentFacts(published=True), "running", Verdict.OK),
        (doctor.AgentFacts(), "not-running", Verdict.OK),
        (doctor.AgentFacts(unit=AGENT), "status-stale", Verdict.WARNING),
        (
            doctor.AgentFacts(
                unit=AGENT._replace(active_state="failed", cause="failed", what="it failed")
            ),
            "failed",
            Verdict.WARNING,
        ),
    ],
)
def test_the_agents_own_state_has_a_finding(
    facts: doctor.AgentFacts, cause: str, verdict: Verdict
) -> None:
    (told,) = doctor.agent(facts)
    assert (told.cause, told.verdict) == (cause, verdict)


def test_a_configuration_that_this_user_may_not_read_is_not_called_wrong() -> None:
    facts = doctor.AgentFacts(published=True, config_forbidden="/x: Permission denied")
    told, _ = doctor.agent(facts)
    assert (told.cause, told.verdict) == ("config-forbidden", Verdict.UNKNOWN)


def test_a_state_directory_matters_only_where_the_daemon_is_installed() -> None:
    facts = doctor.AgentFacts(state_trouble="No such file or directory", state_directory="/x")
    assert [each.cause for each in doctor.agent(facts)] == ["not-running"]
    installed = facts._replace(unit=AGENT, published=True)
    assert [each.cause for each in doctor.agent(installed)] == ["running", "state-unusable"]


class Chaos:
    """Files that say anything at any path."""

    def __init__(self, kinds: Dict[int, str], text: str) -> None:
        self._kinds = kinds
        self._text = text

    def entry(self, path: str) -> Entry:
        kind = self._kinds.get(crc32(path.encode()) % 7, "missing")
        return Entry(path, kind, target=self._text, size=len(self._text), changed=1e300)

    def resolve(self, path: str) -> str:
        return path if crc32(path.encode()) % 3 else ""

    def names(self, directory: str) -> Tuple[str, ...]:
        del directory
        return ("chronyd.service", "a.wants", "x.preset", "x.conf", "chrony.list")

    def read(self, path: str) -> Optional[str]:
        return self._text if crc32(path.encode()) % 2 else None


_KINDS = st.sampled_from(("file", "link", "directory", "other", "missing", "denied"))


@given(st.dictionaries(st.integers(0, 6), _KINDS), st.text())
def test_no_file_system_however_odd_makes_an_image_impossible_to_judge(
    kinds: Dict[int, str], text: str
) -> None:
    told = image_judge.judge(Image(Chaos(kinds, text)))
    assert told
    diagnosis.text("image", told)
