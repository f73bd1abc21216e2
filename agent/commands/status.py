"""Owns ``clock-agent status``: what the daemon knows, how old that is, and what it still has to do.

The daemon's published document tells all of it. Without a daemon there is the file, which tells
what was alerted and what is owed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, NamedTuple, Optional, Tuple

from agent import clock, published
from agent import config as configuration
from agent.core import daemon_view, localtime
from agent.core.model import EXIT_CODES, Standing, Verdict
from agent.core.settings import Config
from agent.store import FILE_NAME, past, reader, rows
from agent.store.codec import Moment

if TYPE_CHECKING:
    import argparse

SCHEMA = 1
UNKNOWN = EXIT_CODES[Verdict.UNKNOWN]


class Kept(NamedTuple):
    """What the file tells."""

    #: Of the last cycle, by the local clock; None when there is none.
    last_wall: Optional[float]
    standings: Tuple[Standing, ...]
    owed: Dict[str, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``status``."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Print what is known; return the exit status of the daemon's verdict, 3 without a daemon."""
    config = configuration.load(config_path).config
    document = _published(config)
    if document is not None:
        now = clock.boottime()
        if arguments.json:
            _print_json({"running": True, "boottime_s": round(now, 3), "published": document})
        else:
            _print(daemon_view.lines(document, now))
        return int(document["exit_code"])
    kept = _kept(config)
    if arguments.json:
        _print_json({"running": False, "remembered": _as_dict(kept)})
    else:
        _print(_without_daemon(config, kept))
    return UNKNOWN


def _published(config: Config) -> Optional[Dict[str, Any]]:
    """The daemon's document, if it can be believed now."""
    runtime = config.paths.runtime
    if published.read(os.path.join(runtime, published.FILE_NAME)) is None:
        return None
    text = published.read_document(os.path.join(runtime, published.JSON_NAME))
    try:
        document = json.loads(text or "")
    except ValueError:
        return None
    told = isinstance(document, dict) and isinstance(document.get("daemon"), dict)
    return document if told else None


def _kept(config: Config) -> Optional[Kept]:
    """What the file tells; None when it cannot be read."""
    import sqlite3

    now = Moment(clock.sample(), clock.boot_id())
    try:
        with reader.reading(os.path.join(config.paths.state, FILE_NAME)) as connection:
            last = rows.last_moment(connection)
            return Kept(
                last_wall=last[0].clock.wall if last else None,
                standings=rows.standings(connection, now),
                owed=past.owed(connection),
            )
    except (OSError, sqlite3.Error):
        return None


def _without_daemon(config: Config, kept: Optional[Kept]) -> Iterator[str]:
    yield f"no daemon: nothing that is valid now is published in {config.paths.runtime}"
    yield "look at it with: systemctl status clock-agent; journalctl -u clock-agent"
    if kept is None:
        yield f"and nothing can be read in {config.paths.state}"
        return
    if kept.last_wall is not None:
        yield f"its last reading was at {localtime.show(kept.last_wall, localtime.utc, 0)}"
    yield from daemon_view.remembered(kept.standings, kept.owed, clock.boottime())


def _as_dict(kept: Optional[Kept]) -> Optional[Dict[str, Any]]:
    if kept is None:
        return None
    wall = kept.last_wall
    return {
        "last_reading": None if wall is None else localtime.show(wall, localtime.utc),
        "alerting": {s.condition: s.alerting.word for s in kept.standings if s.alerting},
        "owed": kept.owed,
    }


def _print_json(document: Dict[str, Any]) -> None:
    print(json.dumps({"schema": SCHEMA, **document}, ensure_ascii=False))


def _print(lines: Iterator[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
