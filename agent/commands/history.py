"""Owns ``clock-agent history``: what this host's clock was at any moment that is remembered."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Iterable, List, NamedTuple, Optional, Tuple

from agent import clock, zones
from agent import config as configuration
from agent.core import chart, localtime
from agent.core import history_view as view
from agent.core.history import Happening, Timeline
from agent.core.localtime import Zone
from agent.core.quantities import parse_duration
from agent.core.settings import Config
from agent.errors import ClockAgentError, UsageError
from agent.store import FILE_NAME, past, reader

if TYPE_CHECKING:
    import argparse

#: Marks of the chart; what is not here is not drawn.
LETTERS = {"step": "S", "suspend": "Z", "raise": "!", "escalate": "!", "resolve": "o"}


class Past(NamedTuple):
    """Everything that is remembered, up to this moment."""

    rows: Tuple[view.Row, ...]
    happenings: Tuple[Happening, ...]
    line: Timeline
    #: The true time at this moment; None when it is not known.
    true_now: Optional[float]


class Asked(NamedTuple):
    """In which clock and which zone somebody asks, and what time it is by that clock."""

    local: bool
    now: float
    zone: Zone
    zone_name: str

    def parse(self, option: str, text: str) -> float:
        """A time, in this zone. Raises UsageError."""
        try:
            return localtime.parse(text, self.now, self.zone, self.zone_name)
        except ValueError as error:
            raise UsageError(f"{option}: {error}") from None

    def bound(self, option: str, text: Optional[str]) -> Optional[float]:
        """A time, or how long ago. Raises UsageError."""
        if text is None:
            return None
        try:
            return self.now - parse_duration(text)
        except ValueError as error:
            if any(unit in text for unit in (":", "@")):
                return self.parse(option, text)
            raise UsageError(f"{option}: {error}; or {localtime.ACCEPTED}") from None

    def stamp(self, moment: Optional[float], digits: int = 0) -> str:
        """A time in this zone."""
        return "unknown" if moment is None else localtime.show(moment, self.zone, digits)

    def precise(self, moment: Optional[float]) -> str:
        """A time in this zone to the millisecond."""
        return self.stamp(moment, 3)

    def exact(self, moment: Optional[float]) -> str:
        """A time in this zone to the millisecond, and in UTC."""
        here, utc = self.precise(moment), self._replace(zone=localtime.utc).precise(moment)
        return here if here == utc else f"{here} ({utc})"

    @property
    def clock(self) -> str:
        """The clock in words."""
        return "this host's clock" if self.local else "the true time"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``history``."""
    add = parser.add_argument
    add(
        "--since",
        metavar="WHEN",
        default="24h",
        help="how long ago, or a time: 24h, 30d, 02:00, '2026-08-24 02:00' (default: %(default)s)",
    )
    add("--until", metavar="WHEN", help="the same, for the end (default: no end)")
    add("--at", metavar="TIME", help="what was the offset, and the true time, at this time?")
    add("--condition", choices=view.CONDITIONS, help="only what was thought of this one")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print one JSON document")
    output.add_argument("--csv", action="store_true", help="print comma-separated values")
    output.add_argument("--plot", action="store_true", help="draw the offset over time")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--local",
        action="store_true",
        help="times are by this host's clock, as its logs have them (the default)",
    )
    which.add_argument("--true", action="store_true", help="times are true ones")
    add("--zone", metavar="NAME", default="local", help="UTC, Europe/Berlin ... (default: local)")


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Print the past, or one moment of it; return 0. Raises ClockAgentError for no answer."""
    config = configuration.load(config_path).config
    zone, zone_name = zones.find(arguments.zone)
    if arguments.at is not None and (arguments.csv or arguments.plot or arguments.until):
        raise UsageError("--at is about one moment: no --csv, --plot or --until beside it")
    remembered = _remembered(config)
    asked = Asked(not arguments.true, clock.wall(), zone, zone_name)
    if arguments.true and remembered.true_now is not None:
        asked = asked._replace(now=remembered.true_now)
    if arguments.at is not None:
        _tell_moment(remembered, asked, arguments)
    else:
        _tell_all(_selected(remembered, asked, arguments), asked, arguments, config)
    return 0


def _remembered(config: Config) -> Past:
    """Read it all. Raises ClockAgentError."""
    import sqlite3

    path = os.path.join(config.paths.state, FILE_NAME)
    try:
        with reader.reading(path) as connection:
            records = past.records(connection)
            happenings = past.happenings(connection)
            present = past.present(connection, clock.sample(), clock.boot_id())
    except FileNotFoundError:
        raise ClockAgentError(
            f"nothing is remembered: there is no {path}",
            "is it the right configuration, and has the daemon run?",
        ) from None
    except PermissionError:
        raise ClockAgentError(
            f"{path} may not be read", "run as root or as a member of the group clock-agent"
        ) from None
    except (OSError, sqlite3.Error) as error:
        if str(error).startswith("no such table"):  # a disk that was full from the start
            raise ClockAgentError(f"nothing is remembered: {path} is still empty") from None
        raise ClockAgentError(f"{path} cannot be read: {error}") from None
    if present is not None:
        records.append(present)
    line = Timeline(records, config.policy.max_drift_ppm * 1e-6)
    rows = tuple(view.Row(record, line.true_of(record)) for record in records)
    return Past(rows, tuple(happenings), line, rows[-1].true if present else None)


def _selected(remembered: Past, asked: Asked, arguments: argparse.Namespace) -> Past:
    """The part that was asked for, without the present."""
    since = asked.bound("--since", arguments.since)
    until = asked.bound("--until", arguments.until)
    if since is not None and until is not None and since >= until:
        raise UsageError(
            f"--since is not before --until: {asked.stamp(since)}, {asked.stamp(until)}"
        )
    rows = tuple(
        row
        for row in remembered.rows
        if row.record.findings and _within(_time(row, asked), since, until)
    )
    if arguments.condition:
        rows = tuple(
            row._replace(record=view.narrowed(row.record, arguments.condition)) for row in rows
        )
    numbers = {row.record.number for row in rows}
    happenings = tuple(
        each
        for each in remembered.happenings
        if each.number in numbers and arguments.condition in (None, each.condition or None)
    )
    return remembered._replace(rows=rows, happenings=happenings)


def _within(moment: float, since: Optional[float], until: Optional[float]) -> bool:
    return (since is None or since <= moment) and (until is None or moment <= until)


def _time(row: view.Row, asked: Asked) -> float:
    """When it was, by the clock that was asked about; by the local one if that is not known."""
    return row.record.wall if asked.local or row.true is None else row.true


def _tell_moment(remembered: Past, asked: Asked, arguments: argparse.Namespace) -> None:
    moment = asked.parse("--at", arguments.at)
    line = remembered.line
    found = line.at_local(moment) if asked.local else line.at_true(moment)
    if not found and moment > asked.now:
        raise UsageError(
            f"--at: {asked.stamp(moment)} is in the future: by {asked.clock} it is"
            f" {asked.stamp(asked.now)}"
        )
    if not found:
        raise ClockAgentError(
            view.no_answer(line.gap(moment, asked.local), asked.stamp(moment), asked.stamp)
        )
    if arguments.json:
        answers = [view.answer_as_dict(each, asked.precise) for each in found]
        _print_json({**_question(asked), "asked": asked.precise(moment), "answers": answers})
        return
    print(f"At {asked.exact(moment)} by {asked.clock}:")
    for number, each in enumerate(found, 1):
        if len(found) > 1:
            print(f"\nanswer {number} of {len(found)}")
        _print_lines(view.answer(each, asked.exact))


def _tell_all(chosen: Past, asked: Asked, arguments: argparse.Namespace, config: Config) -> None:
    if arguments.csv:
        _print_lines(view.csv(chosen.rows, asked.precise))
    elif arguments.json:
        _print_json(
            {**_question(asked), **view.document(chosen.rows, chosen.happenings, asked.precise)}
        )
    elif not chosen.rows:
        raise ClockAgentError("nothing is remembered of that time", "see --since and --until")
    elif arguments.plot:
        _print_lines(_drawn(chosen, asked, config))
    else:
        print(f"times by {asked.clock}, zone {asked.zone_name}; offset = local minus true time")
        times = {row.record.number: _time(row, asked) for row in chosen.rows}
        _print_lines(
            view.listing(
                chosen.rows,
                chosen.happenings,
                lambda row: asked.stamp(times[row.record.number]),
                lambda happening: asked.stamp(times[happening.number]),
            )
        )


def _drawn(chosen: Past, asked: Asked, config: Config) -> List[str]:
    """The chart, over true time: over local time a step would fold it."""
    true = asked._replace(local=False)
    times = {row.record.number: _time(row, true) for row in chosen.rows}
    points = [
        chart.Point(times[row.record.number], row.record.offset, row.record.uncertainty or 0.0)
        for row in chosen.rows
    ]
    marks = [
        chart.Mark(times[each.number], LETTERS[each.kind], view.told(each))
        for each in chosen.happenings
        if each.kind in LETTERS
    ]
    span = points[-1].time - points[0].time

    def tick(moment: float) -> str:
        if span > 86_400:
            return asked.stamp(moment)[5:16]
        return asked.stamp(moment)[11:16] if span > 1800 else asked.stamp(moment)[11:19]

    policy = config.policy
    width = _width()
    title = f"{asked.stamp(points[0].time)} to {asked.stamp(points[-1].time)}, true time"
    drawn = chart.draw(points, marks, policy.offset_warning, policy.offset_critical, tick, width)
    return [title[:width], *(line[:width] for line in drawn)]


def _width() -> int:
    """Columns of the terminal; 80 where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _question(asked: Asked) -> dict[str, Any]:
    return {
        "schema": view.SCHEMA,
        "clock": "local" if asked.local else "true",
        "zone": asked.zone_name,
    }


def _print_json(document: dict[str, Any]) -> None:
    import json

    print(json.dumps({"schema": view.SCHEMA, **document}, ensure_ascii=False))


def _print_lines(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
