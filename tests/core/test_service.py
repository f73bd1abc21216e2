"""Owns the tests of agent.core.service and its tables, on captured systemctl output and beyond."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Dict, List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.model import ServiceState, Verdict, Weight
from agent.core.service import Facts, Look, Program, decide
from agent.core.service_causes import CAUSES
from agent.core.units import Unit, parse

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "systemctl"

ALIASED = Look(aliases=("ntpd.service",), installed=True)
BY_HAND = Look(chronyds=(Program(pid=77, name="chronyd", state="S"),), installed=True)
HERE = Look(installed=True, may_set_clock=True, installer="apt-get")
CONTAINER = Look(installed=True, may_set_clock=False)

#: scenario, file name without ``.show`` (``*``: every other one), look, cause.
CASES: Tuple[Tuple[str, str, Look, str], ...] = (
    ("a01-alias-vendor-symlink", "0-before", ALIASED, "active"),
    ("a01-alias-vendor-symlink", "1-after-disable-now", ALIASED, "disabled-stopped"),
    ("a01-alias-vendor-symlink", "2-after-mask", ALIASED, "disabled-stopped"),
    ("a01-alias-vendor-symlink", "3-after-start-real", ALIASED, "disabled-running"),
    ("a01-alias-vendor-symlink", "4-after-enable-now-real", ALIASED, "masked-alias"),
    ("a01-alias-vendor-symlink", "5-after-daemon-reload", ALIASED, "masked-alias"),
    ("a01-alias-vendor-symlink", "6-after-daemon-reexec", ALIASED, "masked-alias"),
    ("a01-alias-vendor-symlink", "7-after-unmask-start", ALIASED, "active"),
    ("a01-alias-vendor-symlink", "8-after-unmask-real-start", ALIASED, "active"),
    ("a02-alias-install-section", "0-before", ALIASED, "active"),
    ("a02-alias-install-section", "1-after-disable-now", ALIASED, "disabled-running"),
    ("a02-alias-install-section", "2-after-mask", ALIASED, "disabled-running"),
    ("a02-alias-install-section", "3-after-start-real", ALIASED, "disabled-running"),
    # systemd still remembers "disabled"; the boot link is back on disk.
    (
        "a02-alias-install-section",
        "4-after-enable-now-real",
        ALIASED._replace(boot_link=True),
        "masked-alias",
    ),
    ("a02-alias-install-section", "5-after-daemon-reload", ALIASED, "masked-alias"),
    ("a02-alias-install-section", "6-after-daemon-reexec", ALIASED, "masked-alias"),
    ("a02-alias-install-section", "7-after-unmask-start", ALIASED, "active"),
    ("a02-alias-install-section", "8-after-unmask-real-start", ALIASED, "active"),
    ("a05-debian-ntpd-admin-symlink", "0-before", HERE, "active"),
    ("a05-debian-ntpd-admin-symlink", "1-after-disable-now", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "2-after-mask", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "3-after-start-real", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "4-after-enable-now-real", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "5-after-daemon-reload", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "6-after-daemon-reexec", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "7-after-unmask-start", HERE, "disabled-running"),
    ("a05-debian-ntpd-admin-symlink", "8-after-unmask-real-start", HERE, "disabled-running"),
    ("a08-mask-real-name", "0-before", HERE, "active"),
    ("a08-mask-real-name", "1-masked-while-running", HERE, "masked-running"),
    ("a08-mask-real-name", "1b-after-restart-attempt", HERE, "masked-running"),
    ("a08-mask-real-name", "2-masked-stopped", HERE, "masked"),
    (
        "a08-mask-real-name",
        "2-masked-stopped",
        HERE._replace(empty_file=True),
        "empty-unit-file",
    ),
    ("a08-mask-real-name", "3-unmasked", HERE, "stopped"),
    ("a08-mask-real-name", "4-masked-runtime-while-running", HERE, "masked-runtime"),
    ("a08-mask-real-name", "5-mask-now", HERE, "masked"),
    ("d01-baseline", "a-active", HERE, "active"),
    ("d01-baseline", "b-stopped", HERE, "stopped"),
    ("d01-baseline", "c-started-again", HERE, "active"),
    ("d02-disable", "1-disabled-while-running", HERE, "disabled-running"),
    ("d02-disable", "2-disabled-reloaded", HERE, "disabled-running"),
    ("d02-disable", "3-disabled-stopped", HERE, "disabled-stopped"),
    ("d02-disable", "3-disabled-stopped", BY_HAND, "started-by-hand"),
    ("d02-disable", "4-enabled-again", HERE, "active"),
    ("d03-mask-real-with-alias", "1-masked-running", HERE, "masked-alias-left"),
    ("d03-mask-real-with-alias", "2-after-restart-attempts", HERE, "masked-alias-left"),
    ("d03-mask-real-with-alias", "3-masked-stopped", HERE, "masked-alias-left"),
    ("d03-mask-real-with-alias", "4-after-start-attempts", HERE, "masked-alias-left"),
    ("d03-mask-real-with-alias", "5-after-reexec-start-alias", HERE, "masked-alias-left"),
    ("d05-failed", "1-killed-9", HERE, "failed-signal"),
    ("d05-failed", "2-reset-failed", HERE, "exited"),
    ("d05-failed", "3-bad-config", HERE, "failed-exit-code"),
    ("d05-failed", "4-six-failed-starts", HERE, "failed-exit-code"),
    ("d05-failed", "5-segv", HERE, "failed-signal"),
    # The capture lacks ExecStart, where systemd keeps the status of a forking unit's start.
    ("d05-failed", "6-binary-missing", HERE, "failed-exit-code"),
    ("d06-condition-failed", "1-after-boot", CONTAINER, "condition-failed"),
    ("d06-condition-failed", "2-after-start", CONTAINER, "condition-failed"),
    ("d07-not-found", "1-not-found", HERE, "not-found"),
    ("d07-not-found", "1-not-found", Look(), "not-installed"),
    ("d07-not-found", "2-running-outside-systemd", BY_HAND, "started-by-hand"),
    ("d08-activating", "1-auto-restart", HERE, "restart-loop"),
    ("d08-activating", "2-start-pre", HERE, "activating"),
    ("d08-activating", "3-deactivating", HERE, "deactivating"),
    ("d11-conflict", "1-conflict", HERE, "stopped-by-other"),
)

SEVERITY: Dict[str, Tuple[Verdict, Weight]] = {
    "active": (Verdict.OK, Weight.COUNTED),
    "activating": (Verdict.WARNING, Weight.COUNTED),
    "condition-failed": (Verdict.CRITICAL, Weight.AT_ONCE),
    "deactivating": (Verdict.WARNING, Weight.COUNTED),
    "disabled-running": (Verdict.WARNING, Weight.AT_ONCE),
    "disabled-stopped": (Verdict.CRITICAL, Weight.AT_ONCE),
    "empty-unit-file": (Verdict.CRITICAL, Weight.AT_ONCE),
    "exited": (Verdict.CRITICAL, Weight.COUNTED),
    "failed-exit-code": (Verdict.CRITICAL, Weight.COUNTED),
    "failed-signal": (Verdict.CRITICAL, Weight.COUNTED),
    "masked": (Verdict.CRITICAL, Weight.AT_ONCE),
    "masked-alias": (Verdict.WARNING, Weight.AT_ONCE),
    "masked-alias-left": (Verdict.CRITICAL, Weight.AT_ONCE),
    "masked-running": (Verdict.CRITICAL, Weight.AT_ONCE),
    "masked-runtime": (Verdict.CRITICAL, Weight.AT_ONCE),
    "not-found": (Verdict.CRITICAL, Weight.AT_ONCE),
    "not-installed": (Verdict.CRITICAL, Weight.AT_ONCE),
    "restart-loop": (Verdict.CRITICAL, Weight.COUNTED),
    "started-by-hand": (Verdict.WARNING, Weight.AT_ONCE),
    "stopped": (Verdict.CRITICAL, Weight.COUNTED),
    "stopped-by-other": (Verdict.CRITICAL, Weight.COUNTED),
}


def captured(scenario: str, state: str) -> str:
    return (CORPUS / scenario / f"{state}.show").read_text("utf-8")


def judged(text: str, look: Look = HERE, wanted: str = "auto") -> ServiceState:
    return decide(Facts(units=parse(text), wanted=wanted, look=look))


def debian(**changes: Any) -> Unit:
    """Debian's unit as it is on a healthy host, but for ``changes``."""
    unit = Unit(
        id="chrony.service",
        names=("chrony.service", "chronyd.service"),
        load_state="loaded",
        active_state="active",
        sub_state="running",
        unit_file_state="enabled",
        main_pid=40,
        condition_checked=True,
        condition_met=True,
    )
    return unit._replace(**changes)


def other(name: str, **changes: Any) -> Unit:
    return debian(id=name, names=(name,), main_pid=50)._replace(**changes)


def facts(*units: Unit, **more: Any) -> Facts:
    return Facts(units=units, look=HERE)._replace(**more)


@pytest.mark.parametrize(("scenario", "state", "look", "cause"), CASES)
def test_every_captured_state_has_its_cause_and_severity(
    scenario: str, state: str, look: Look, cause: str
) -> None:
    found = judged(captured(scenario, state), look)
    assert found.cause == cause
    assert (found.verdict, found.weight) == SEVERITY[cause]
    assert found.what
    assert bool(found.advice) == (cause != "active")


def test_no_captured_state_is_left_out() -> None:
    files = {(path.parent.name, path.stem) for path in CORPUS.rglob("*.show")}
    assert files == {(scenario, state) for scenario, state, _, _ in CASES}


def test_the_incident_names_the_stop_the_lost_boot_link_and_the_masked_alias() -> None:
    state = judged(captured("a01-alias-vendor-symlink", "2-after-mask"), ALIASED)
    assert "stopped and disabled" in state.what
    assert "ntpd.service" in state.what
    assert state.advice == (
        "systemctl unmask ntpd.service",
        "systemctl enable --now chronyd.service",
    )


def test_a_masked_name_whose_link_left_no_trace_is_mentioned_beside_the_damage() -> None:
    state = judged(captured("a05-debian-ntpd-admin-symlink", "2-after-mask"))
    assert "not start at the next boot; ntpd.service is masked as well" in state.what
    assert state.advice == ("systemctl enable chrony.service",)


def test_a_mask_for_a_name_that_was_never_chronys_is_not_held_against_the_host() -> None:
    masked = other(
        "ntpd.service",
        load_state="masked",
        active_state="inactive",
        unit_file_state="masked",
    )
    assert decide(facts(debian(), masked)).cause == "active"


def test_debians_remedy_speaks_of_chrony_service_because_enable_refuses_aliases() -> None:
    masked = other("chronyd.service", load_state="masked", active_state="inactive")
    state = decide(facts(debian(unit_file_state="disabled", names=("chrony.service",)), masked))
    assert state.advice == (
        "systemctl unmask chronyd.service",
        "systemctl enable chrony.service",
    )


def test_a_name_in_the_configuration_wins() -> None:
    ntp = other("ntp.service", active_state="failed", sub_state="failed", result="timeout")
    assert decide(facts(debian(), ntp, wanted="ntp.service")).cause == "failed"


def test_a_name_that_does_not_exist_is_quoted() -> None:
    state = decide(facts(debian(), wanted="chronny.service"))
    assert (state.cause, state.verdict) == ("wrong-name", Verdict.CRITICAL)
    assert "chronny.service" in state.what


def test_an_alias_in_the_configuration_is_the_unit_itself() -> None:
    assert decide(facts(debian(), wanted="chronyd.service")).cause == "active"


def test_a_second_daemon_beside_chronyd_is_named() -> None:
    state = decide(facts(debian(), other("systemd-timesyncd.service")))
    assert (state.cause, state.verdict) == ("second-discipliner", Verdict.WARNING)
    assert "systemd-timesyncd.service" in state.what


def test_another_daemon_without_any_chrony_is_said_plainly() -> None:
    absent = Unit(id="chronyd.service", load_state="not-found", active_state="inactive")
    state = decide(facts(absent, other("systemd-timesyncd.service")))
    assert (state.cause, state.verdict) == ("other-daemon", Verdict.WARNING)


def test_the_helper_that_chronyd_forks_is_not_a_second_one() -> None:
    main = Program(40, "chronyd", "chronyd", "S", parent=1)
    helper = Program(41, "chronyd", "chronyd", "S", parent=40)
    stopped = debian(active_state="inactive", sub_state="dead", main_pid=0)
    state = decide(facts(stopped, look=Look(chronyds=(main, helper))))
    assert [line for line in state.advice if "kill" in line] == [
        "kill 40 && tail --pid=40 -f /dev/null"
    ]


def test_a_unit_that_is_no_time_daemon_is_judged_by_itself() -> None:
    agent = other("clock-agent.service", active_state="inactive", main_pid=0)
    rival = other("ntpsec.service")
    state = decide(facts(agent, rival, wanted="clock-agent.service", look=BY_HAND))
    assert (state.cause, state.unit) == ("stopped", "clock-agent.service")
    assert "ntpsec" not in state.what


def test_a_chronyd_in_a_container_does_not_stand_in_for_the_hosts() -> None:
    inside = Look(chronyds=(Program(77, "chronyd", "chronyd", "S", contained=True),))
    stopped = debian(active_state="inactive", sub_state="dead", main_pid=0)
    assert decide(facts(stopped, look=inside)).cause == "stopped"


def test_two_chrony_units_that_both_start_at_boot_contradict_each_other() -> None:
    state = decide(facts(debian(), other("chronyd.service", active_state="inactive")))
    assert (state.cause, state.verdict) == ("contradictory-names", Verdict.WARNING)


def test_a_sibling_unit_that_nobody_enabled_is_no_contradiction() -> None:
    sibling = other(
        "chronyd-restricted.service", active_state="inactive", unit_file_state="disabled"
    )
    assert decide(facts(debian(), sibling)).cause == "active"


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"load_state": "not-found", "unit_file_state": ""}, "unit-file-gone"),
        ({"load_state": "bad-setting"}, "bad-setting"),
        ({"load_state": "error", "active_state": "inactive"}, "load-error"),
        ({"active_state": "reloading", "sub_state": "reload"}, "reloading"),
        ({"unit_file_state": "enabled-runtime"}, "disabled-running"),
        ({"unit_file_state": "static"}, "active"),
        ({"unit_file_state": "generated", "sub_state": "exited"}, "no-process"),
        ({"restarts": 3, "started_at": 900.0}, "restart-loop"),
        ({"restarts": 3, "started_at": 100.0}, "active"),
        ({"active_state": "failed", "program_status": 203}, "program-missing"),
        ({"active_state": "failed", "exec_status": 203}, "program-missing"),
        ({"active_state": "failed", "result": "oom-kill"}, "failed"),
        ({"active_state": "inactive", "exited_at": 5.0, "deactivated_at": 5.1}, "exited"),
        ({"active_state": "inactive", "exited_at": 5.1, "deactivated_at": 5.0}, "stopped"),
        ({"active_state": "warp"}, "unreadable"),
        ({"load_state": "mas"}, "unreadable"),
    ],
)
def test_states_beyond_the_captures_have_causes_too(changes: Dict[str, Any], cause: str) -> None:
    unit = debian(**changes)
    if not unit.active:
        unit = unit._replace(main_pid=0)
    assert decide(facts(unit, monotonic=1000.0)).cause == cause


@pytest.mark.parametrize(
    ("main", "cause"),
    [
        (Program(40, "chronyd", "chronyd", "S"), "active"),
        (Program(40, "chronyd", "chronyd", "T"), "process-stopped"),
        (Program(40, "chronyd", "chronyd", "D"), "process-stuck"),
        (Program(40, "chronyd", "", "Z"), "process-gone"),
        (Program(40, "", "", "X"), "process-gone"),
        (Program(40, "chronyd", "sh", "S"), "wrong-program"),
        (Program(40, "sleep", "sleep", "S"), "wrong-program"),
    ],
)
def test_the_process_behind_an_active_unit_is_looked_at(main: Program, cause: str) -> None:
    assert decide(facts(debian(), main=main)).cause == cause


def test_a_stopped_daemon_is_resumed_with_its_helper() -> None:
    main = Program(pid=40, name="chronyd", state="T")
    helper, elsewhere = main._replace(pid=41, parent=40), main._replace(pid=99)
    look = HERE._replace(chronyds=(main, helper, elsewhere))
    assert decide(facts(debian(), main=main, look=look)).advice == ("kill -CONT 40 41",)


def test_a_process_systemd_forgot_is_told_from_one_started_by_hand() -> None:
    stopped = debian(active_state="inactive", sub_state="dead", main_pid=0)
    lost = Look(chronyds=(Program(40, "chronyd", "chronyd", "S", unit="chrony.service"),))
    assert decide(facts(stopped, look=lost)).cause == "lost-process"
    assert decide(facts(stopped, look=BY_HAND)).cause == "started-by-hand"


def test_a_generated_unit_with_a_living_chronyd_is_well() -> None:
    unit = debian(unit_file_state="generated", sub_state="exited", main_pid=0)
    assert decide(facts(unit, look=BY_HAND)).cause == "active"


def test_a_truncated_answer_is_not_read_as_an_absence() -> None:
    text = captured("d01-baseline", "a-active")
    start = text.index("LoadState=")
    assert judged(text[: start + 12]).cause == "unreadable"


def test_lost_blank_lines_do_not_merge_two_units() -> None:
    text = "Id=a.service\nLoadState=loaded\nId=b.service\nLoadState=masked\n"
    assert [(unit.id, unit.load_state) for unit in parse(text)] == [
        ("a.service", "loaded"),
        ("b.service", "masked"),
    ]


def test_the_status_of_a_start_that_could_not_run_is_read_from_exec_start() -> None:
    line = "{ path=/usr/sbin/chronyd ; argv[]=/usr/sbin/chronyd -F 1 ; code=exited ; status=203/n }"
    unit = parse(f"Id=chrony.service\nExecStart={line}\n")[0]
    assert (unit.program, unit.program_status) == ("/usr/sbin/chronyd", 203)


@given(st.text(), st.sampled_from(("auto", "ntp.service", "")))
def test_no_text_makes_it_raise(text: str, wanted: str) -> None:
    assert isinstance(judged(text, wanted=wanted), ServiceState)


_KEYS = ("Id", "Names", "LoadState", "ActiveState", "SubState", "MainPID", "NRestarts", "ExecStart")
_VALUES = st.one_of(
    st.sampled_from(("loaded", "masked", "not-found", "active", "chrony.service", "failed", "")),
    st.text(alphabet=st.characters(blacklist_characters="\n"), max_size=20),
)


@given(st.lists(st.tuples(st.sampled_from(_KEYS), _VALUES)), st.lists(st.integers(0, 9)))
def test_nothing_shaped_like_an_answer_makes_it_raise(
    lines: List[Tuple[str, str]], blanks: List[int]
) -> None:
    text = "".join(
        f"{key}={value}\n" + ("\n" if at in blanks else "") for at, (key, value) in enumerate(lines)
    )
    state = judged(text)
    assert state.cause in {cause.word for cause in CAUSES}


@given(st.sampled_from(sorted(CORPUS.rglob("*.show"))), st.randoms(use_true_random=False))
def test_the_order_of_blocks_and_lines_decides_nothing(path: Path, random: Random) -> None:
    text = path.read_text("utf-8")
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    for block in blocks:
        random.shuffle(block)
    random.shuffle(blocks)
    shuffled = "\n\n".join("\n".join(block) for block in blocks)
    assert judged(shuffled, ALIASED) == judged(text, ALIASED)


@given(st.sampled_from(sorted(CORPUS.rglob("*.show"))), st.integers(0, 4000))
def test_an_answer_cut_anywhere_never_turns_into_a_clean_bill(path: Path, cut: int) -> None:
    text = path.read_text("utf-8")
    whole = judged(text, HERE)
    part = judged(text[:cut], HERE)
    if whole.verdict is Verdict.CRITICAL:
        assert part.verdict is not Verdict.OK
