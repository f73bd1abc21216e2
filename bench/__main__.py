"""Owns ``make bench``: the budgets of the program, as ratios to yardsticks of the same run.

It asserts nothing. Run it on a quiet machine; the ratios matter, not the figures.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, NamedTuple, Sequence, Tuple

from agent.publish import Publisher
from bench import measure, past, peers, stage
from tests.support.waiting import wait_for

ROUNDS = 40
#: Cycles of the daemon, unless the first argument says how many.
CYCLES = 1000
#: The cycles after which memory should grow no more.
SETTLED = 500
INTERVAL = "100ms"
MIB = 1024 * 1024
ALL_READINGS = "SELECT * FROM cycle JOIN reading ON reading.cycle = cycle.id"
FLOOR = "python3 -IS -c pass"


class Row(NamedTuple):
    """One budget and how it was kept."""

    what: str
    measured: str
    against: str
    ratio: str
    budget: str


def main() -> None:
    """Measure everything and print one table."""
    cycles = int(sys.argv[1]) if len(sys.argv) > 1 else CYCLES
    rows: List[Row] = []
    with private_directory() as directory:
        start = stage.launcher(directory)
        with stage.healthy(directory) as host:
            config = stage.configuration(directory, host.settings)
            rows += check_published(directory, start)
            rows += check_live(start, config, host)
            rows += daemon(directory, start, config, cycles)
    with private_directory() as directory:
        rows += history(directory, stage.launcher(directory))
    with private_directory() as directory:
        start = stage.launcher(directory)
        with stage.silent(directory) as host:
            rows += check_silent(start, stage.configuration(directory, host.settings))
    show(rows)
    compare()


def compare() -> None:
    """Print a table beside what else there is for the job, where containers can be made."""
    if os.geteuid() != 0:
        print("The comparison with other programs boots a container: it is left out without root.")
        return
    with private_directory() as directory:
        print_columns(peers.table(directory, ROUNDS))


def check_published(directory: Path, start: Path) -> List[Row]:
    """A check that only has to read what the daemon has published."""
    valid_until = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 3600 * 10**9
    Publisher(str(directory)).publish(1, "CLOCK WARNING - published\n", valid_until, {})
    programs = {
        FLOOR: [stage.PYTHON, "-IS", "-c", "pass"],
        "check": [str(start), "check"],
    }
    taken = measure.in_turns(programs, ROUNDS)
    Publisher(str(directory)).withdraw()
    if taken["check"].status != 1:
        sys.exit("the published verdict was not believed")
    return [
        Row(
            "check, published verdict",
            milliseconds(taken["check"].median),
            f"{milliseconds(taken[FLOOR].median)} {FLOOR}",
            ratio(taken["check"].median, taken[FLOOR].median),
            "1.3",
        )
    ]


def check_live(start: Path, config: Path, host: stage.Host) -> List[Row]:
    """A check that asks chronyd, systemd and Redis itself, all of them well."""
    check = [str(start), "--config", str(config), "check", "--live"]
    programs = {**host.by_hand, FLOOR: [stage.PYTHON, "-IS", "-c", "pass"], "check": check}
    taken = measure.in_turns(programs, ROUNDS)
    by_hand = [each for name, each in taken.items() if name != "check"]
    yardstick = sum(each.median for each in by_hand)
    at_best = ratio(taken["check"].shortest, sum(each.shortest for each in by_hand))
    return [
        Row(
            f"check --live, exit {taken['check'].status}",
            milliseconds(taken["check"].median),
            f"{milliseconds(yardstick)} {' + '.join(programs)}".replace(" + check", ""),
            f"{ratio(taken['check'].median, yardstick)}, at best {at_best}",
            "2, and 80 ms" if stage.has_systemd() else "80 ms; the ratio: see below",
        )
    ]


def check_silent(start: Path, config: Path) -> List[Row]:
    """The same when nothing it asks gives an answer."""
    check = [str(start), "--config", str(config), "check", "--live"]
    taken = measure.in_turns({"check": check}, 3)["check"]
    return [
        Row(
            f"check --live, nothing answers, exit {taken.status}",
            milliseconds(taken.median),
            "",
            "",
            "3000 ms",
        )
    ]


def daemon(directory: Path, start: Path, config: Path, cycles: int) -> List[Row]:
    """Many cycles of the daemon: its own processor time for each, and its memory."""
    config.write_text(config.read_text() + f"interval: {INTERVAL}\nconfirm_interval: {INTERVAL}\n")
    log = directory / "log"
    process = stage.daemon(start, config, log)
    settled = min(SETTLED, cycles // 2)

    def readings(count: int) -> bool:
        return log.read_bytes().count(b"\nCLOCK ") >= count

    try:
        wait_for(lambda: readings(settled), timeout=settled, what="the daemon", every=0.05)
        cpu, before = measure.cpu_seconds(process.pid), memory(process.pid)
        wait_for(lambda: readings(cycles), timeout=cycles, what="the daemon", every=0.05)
        spent = measure.cpu_seconds(process.pid) - cpu
        after = memory(process.pid)
    finally:
        process.terminate()
        process.wait()
    each = spent / (cycles - settled)
    return [
        Row("daemon, own CPU per cycle", milliseconds(each), "", "", "10 ms"),
        Row(f"daemon, PSS after {cycles} cycles", f"{after[0] / MIB:.1f} MiB", "", "", "25 MiB"),
        Row(
            "daemon, allocated of it",
            f"{after[1] / MIB:.1f} MiB",
            f"{before[1] / MIB:.1f} MiB after {settled}",
            ratio(after[1], before[1]),
            "no growth",
        ),
    ]


def memory(pid: int) -> Tuple[int, int]:
    """The memory of a process in bytes, and what of it the process has allocated."""
    return measure.pss_bytes(pid), measure.pss_bytes(pid, anonymous=True)


def history(directory: Path, start: Path) -> List[Row]:
    """A month of readings every five minutes: the file, and reading all of it."""
    file = past.write(directory / "state")
    config = directory / "config.yaml"
    config.write_text(f"paths: {{state: {directory / 'state'}}}\n")
    by_hand = f"import sqlite3; sqlite3.connect({str(file)!r}).execute('{ALL_READINGS}').fetchall()"
    programs = {
        "fetchall": [stage.PYTHON, "-IS", "-c", by_hand],
        "history": [str(start), "--config", str(config), "history", "--since", "30d"],
        "chart": [str(start), "--config", str(config), "history", "--since", "30d", "--plot"],
    }
    taken = measure.in_turns(programs, ROUNDS // 4)
    yardstick = taken["fetchall"].median
    rows = [Row("30 days, file", f"{file.stat().st_size / MIB:.1f} MiB", "", "", "20 MiB")]
    for name, words in (("history", "history --since 30d"), ("chart", "history --plot")):
        rows.append(
            Row(
                f"{words}, exit {taken[name].status}, peak {taken[name].peak / MIB:.0f} MiB",
                milliseconds(taken[name].median),
                f"{milliseconds(yardstick)} python3 -IS, fetchall",
                ratio(taken[name].median, yardstick),
                "300 ms",
            )
        )
    return rows


def milliseconds(seconds: float) -> str:
    """An amount of time for the table."""
    return f"{seconds * 1000:.1f} ms"


def ratio(measured: float, yardstick: float) -> str:
    """How many times the yardstick."""
    return f"{measured / yardstick:.2f}"


def show(rows: List[Row]) -> None:
    """Print the table, and what it was measured on."""
    print(f"{stage.PYTHON}, {platform.machine()}, medians of {ROUNDS} turns")
    if not stage.has_systemd():
        print("systemd does not run here: a script that prints systemctl's answer stands in,")
        print("which takes a fifth of the time; the ratio with the real one is measured below")
    table = [Row("what", "measured", "against", "ratio", "budget"), *rows]
    print_columns(table)


def print_columns(table: Sequence[Sequence[str]]) -> None:
    """Print rows of texts, each column as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


@contextmanager
def private_directory() -> Iterator[Path]:
    """A directory with a short path, for sockets, and only ours, as chronyd wants it."""
    directory = Path(tempfile.mkdtemp(prefix="ca-", dir="/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
