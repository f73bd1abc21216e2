"""``clock-agent history``: the past of a host that drifted for days and was then put right."""

from __future__ import annotations

import contextlib
import csv
import io
from pathlib import Path
from typing import Iterator, List, NamedTuple

import pytest

from agent import clock
from agent.cli import main
from agent.core import localtime
from agent.core.model import Assessment, Finding, Miss, Observations, Reading, Verdict
from agent.core.settings import HistorySettings
from agent.core.steps import ClockSample, Event
from agent.store import Cycle
from agent.store.sqlite import SqliteStore
from tests.support.command import Answer, clock_agent, configuration
from tests.support.cycles import an_alert
from tests.support.nobody import as_nobody

INTERVAL = 300.0
DAY = 86_400.0
#: The incident's rate, in seconds per second.
RATE = 1389e-6


class Host(NamedTuple):
    """A host with a past, and the configuration that finds it."""

    config: str
    store: SqliteStore
    #: True times, in seconds since 1970: the first cycle, the drift's begin, the correction.
    first: float
    begin: float
    corrected: float
    now: float

    def offset(self, true: float) -> float:
        """By how much the clock was ahead."""
        return 0.0 if true > self.corrected else max(0.0, true - self.begin) * RATE

    def history(self, *arguments: str) -> Answer:
        return clock_agent("--config", self.config, "history", "--zone", "UTC", *arguments)


def written(moment: float) -> str:
    return localtime.show(moment, localtime.utc, 3)


def cycle_at(host: Host, true: float, now: ClockSample) -> Cycle:
    """The cycle at the true time ``true``: two boots ago it was another boot."""
    ahead = host.offset(true)
    wall = true + ahead
    stepped = host.offset(host.corrected) if true <= host.corrected else 0.0
    boottime = wall - stepped - (now.wall - now.boottime)
    early = true < host.first + DAY / 2
    reading = Reading("locks", ahead, 0.0004, boottime)
    chronyd = Miss("chronyd", "not-running", "") if ahead else reading._replace(source="chronyd")
    slow = Verdict.CRITICAL if ahead > 2 else Verdict.OK
    events = []
    alerts = []
    if host.corrected < true <= host.corrected + INTERVAL:
        events.append(Event("step", wall, boottime, -host.offset(host.corrected)))
        alerts.append(an_alert(2, "resolve"))
    if 2.0 <= ahead < 2.0 + INTERVAL * RATE:
        alerts.append(an_alert(1))
    return Cycle(
        clock=ClockSample(wall, boottime + (1000 if early else 0), boottime, boottime),
        boot_id="an earlier boot" if early else clock.boot_id(),
        observations=Observations(chronyd, None, (reading,), boottime=boottime),
        assessment=Assessment(
            (
                Finding("offset", slow, "fast" if slow else "", ""),
                Finding("sync", Verdict.WARNING if ahead else Verdict.OK, "", ""),
            ),
            reading,
        ),
        standings=(),
        alerts=tuple(alerts),
        events=tuple(events),
    )


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    directory: Path = tmp_path_factory.mktemp("host")
    now = clock.sample()
    store = SqliteStore(str(directory / "state"), HistorySettings(), print)
    host = Host(
        config=configuration(directory, {}),
        store=store,
        first=now.wall - 3 * DAY,
        begin=now.wall - 2 * DAY,
        corrected=now.wall - 0.5 * DAY,
        now=now.wall,
    )
    times = [host.first + n * INTERVAL for n in range(int(3 * DAY / INTERVAL))]
    store.save([cycle_at(host, true, now) for true in times], ())
    yield host
    store.close()


def test_a_stamp_of_the_hosts_own_logs_is_answered_with_the_true_time(host: Host) -> None:
    true = host.begin + 80_000.0
    ahead = host.offset(true)
    (found,) = host.history("--at", written(true + ahead), "--json").document["answers"]
    assert found["offset_ms"] == pytest.approx(ahead * 1000, abs=0.5)
    assert found["true_time"][:21] == written(true)[:21]
    assert found["uncertainty_ms"] < 10
    assert found["verdict"] == "critical"


def test_a_true_time_is_answered_with_what_the_host_showed(host: Host) -> None:
    true = host.begin + 80_000.0
    answer = host.history("--true", "--at", written(true), "--json").document
    assert answer["clock"] == "true"
    (found,) = answer["answers"]
    assert found["local_time"][:20] == written(true + host.offset(true))[:20]


def test_the_answer_is_given_in_utc_and_in_the_zone_that_was_asked_for(host: Host) -> None:
    true = host.begin + 50_000.0
    answer = host.history("--at", written(true), "--zone", "Asia/Kolkata")
    assert answer.status == 0
    assert "by this host's clock:" in answer.first
    assert "+05:30 (" in answer.first
    assert "Z)" in answer.first
    assert "ahead (fast), give or take" in answer.stdout


def test_a_local_time_that_was_twice_has_two_answers(host: Host) -> None:
    twice = host.corrected + host.offset(host.corrected) / 2
    answer = host.history("--at", written(twice))
    assert "answer 1 of 2" in answer.stdout
    assert "answer 2 of 2" in answer.stdout


def test_between_two_boots_nothing_is_known(host: Host) -> None:
    answer = host.history("--at", written(host.first + DAY / 2 - 20.0))
    assert answer.status == 3
    assert "the host was off, or the daemon was not running, between" in answer.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("2099-01-01 00:00", "is in the future: by this host's clock it is 2"),
        ("2001-01-01 00:00", "is before the first record, which is of 2"),
        ("2026-02-30 00:00", "is a day that the calendar does not have"),
        ("tomorrow", "'tomorrow' has no time of day"),
        ("", "'' is no time; write 2026"),
    ],
)
def test_a_moment_that_cannot_be_answered_says_why(host: Host, asked: str, why: str) -> None:
    answer = host.history("--at", asked)
    assert answer.status == 3
    assert why in answer.stderr
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("2025-10-26 02:30", "happened twice in Europe/Berlin: 2025-10-26 02:30:00+02:00 and"),
        ("2026-03-29 02:30", "does not exist in Europe/Berlin: clocks went from +01:00 to +02:00"),
    ],
)
def test_a_local_time_at_the_change_of_summer_time_is_asked_back(
    host: Host, asked: str, why: str
) -> None:
    for arguments in (["--at", asked], ["--since", asked], ["--until", asked]):
        answer = host.history("--zone", "Europe/Berlin", *arguments)
        assert answer.status == 3
        assert why in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--zone", "Europe/Berln"], "did you mean Europe/Berlin?"),
        (["--zone", "../../etc/passwd"], "there is no zone '../../etc/passwd'"),
        (["--since", "24"], "'24' has no unit"),
        (["--since", "5x"], "has the unit 'x'"),
        (["--since", "1h", "--until", "2h"], "--since is not before --until"),
        (["--at", "02:00", "--plot"], "--at is about one moment"),
        (["--json", "--csv"], "not allowed with argument"),
        (["--condition", "weather"], "invalid choice: 'weather'"),
        (["--since", "10d", "--until", "9d"], "nothing is remembered of that time"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_one_line(
    host: Host, arguments: List[str], why: str
) -> None:
    answer = host.history(*arguments)
    assert answer.status == 3
    assert why in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_listing_is_of_the_last_day_unless_told_otherwise(host: Host) -> None:
    lines = host.history().stdout.splitlines()
    assert "by this host's clock, zone UTC" in lines[0]
    cycles = [line for line in lines[1:] if " -- " not in line]
    assert len(cycles) == pytest.approx(DAY / INTERVAL, abs=5)
    assert any("step: the clock was set back by 3 min" in line for line in lines)
    assert any("resolve critical, offset: " in line for line in lines)


def test_everything_of_one_condition(host: Host) -> None:
    lines = host.history("--since", "5d", "--condition", "sync").stdout.splitlines()
    assert len(lines) > 800
    assert not any("offset fast" in line for line in lines)
    assert any("warning   sync" in line for line in lines)
    assert not any(" -- " in line for line in lines)


def test_csv_is_read_back_by_others(host: Host) -> None:
    table = list(csv.DictReader(io.StringIO(host.history("--since", "2d", "--csv").stdout)))
    assert len(table) > 500
    worst = max(table, key=lambda line: float(line["offset_ms"]))
    assert worst["verdict"] == "critical"
    assert float(worst["offset_ms"]) == pytest.approx(host.offset(host.corrected) * 1000, rel=0.01)
    assert worst["local_time"] > worst["true_time"]


def test_json_holds_cycles_and_events(host: Host) -> None:
    document = host.history("--since", "5d", "--json").document
    assert document["schema"] == 1
    assert len(document["cycles"]) == int(3 * DAY / INTERVAL)
    assert [event["kind"] for event in document["events"]] == ["raise", "step", "resolve"]


def test_true_times_are_shown_when_asked_for(host: Host) -> None:
    true = host.corrected - 3600.0
    since, until = written(true - 600.0), written(true)
    shown = host.history("--true", "--since", since, "--until", until).stdout.splitlines()[1:]
    assert len(shown) == 2
    assert all(since[:19] <= line[:19] <= until[:19] for line in shown)


def test_the_chart_is_ascii_and_fits_80_columns(host: Host) -> None:
    answer = host.history("--since", "5d", "--plot")
    assert answer.status == 0
    assert answer.stdout.isascii()
    assert max(map(len, answer.stdout.splitlines())) <= 80
    assert answer.stdout.count("*") > 60
    assert "S " in answer.stdout
    assert "- warning 100 ms, = critical 2000 ms" in answer.stdout


def test_a_chart_of_minutes_has_seconds_below_it(host: Host) -> None:
    lines = host.history("--since", "20m", "--plot").stdout.splitlines()
    (axis,) = [line for line in lines if "+-----" in line]
    below = lines[lines.index(axis) + 1].split()
    assert len(below) >= 3
    assert all(len(label) == len("02:00:03") for label in below)


def test_history_is_read_while_the_daemon_writes(host: Host) -> None:
    now = clock.sample()
    for _ in range(3):
        cycle = cycle_at(host, clock.wall(), clock.sample())
        host.store.save([cycle], ())
        answer = host.history("--since", written(now.wall - 60.0), "--csv")
        assert written(cycle.clock.wall)[:19] in answer.stdout


def test_a_host_without_a_past_is_told_so(tmp_path: Path) -> None:
    answer = clock_agent("--config", configuration(tmp_path, {}), "history")
    assert answer.status == 3
    assert "nothing is remembered: there is no " in answer.stderr


def test_a_file_that_was_only_just_begun_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.db").touch()
    answer = clock_agent("--config", configuration(tmp_path, {}), "history")
    assert answer.status == 3
    assert "state.db is still empty" in answer.stderr


def test_a_file_that_is_no_history_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.db").write_text("this is not a database, whatever its name" * 30)
    answer = clock_agent("--config", configuration(tmp_path, {}), "history")
    assert answer.status == 3
    assert "cannot be read: file is not a database" in answer.stderr


def test_a_past_that_may_not_be_read_is_told(private_dir: Path) -> None:
    private_dir.chmod(0o755)
    store = SqliteStore(str(private_dir / "state"), HistorySettings(), print)
    store.save([], ())
    config = configuration(private_dir, {})

    def ask() -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = main(["--config", config, "history"])
        return f"{status} {said.getvalue()}"

    assert "nothing is remembered of that time" in ask()  # and all is imported that is needed
    said = as_nobody(ask)
    store.close()
    assert said.startswith("3 ")
    assert "may not be read (run as root or as a member of the group" in said
