"""Owns ``clock-agent run``: puts the daemon together on this host and starts it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, MutableMapping, Optional

from agent import __version__, clock, spawn
from agent import config as configuration
from agent.core import wording
from agent.core.fold import resume
from agent.core.settings import Config
from agent.cycle import Cycles
from agent.daemon import SIGNALS, Daemon
from agent.host import host_name, identity
from agent.log import Log
from agent.notify import Notifier
from agent.store.keeper import Keeper
from agent.store.sqlite import SqliteStore
from agent.wakeup import Wakeup

if TYPE_CHECKING:
    import argparse

#: Seconds the disk is given to tell what was known before; then the daemon starts without it.
RESTORE = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``run``."""
    parser.add_argument(
        "--interval",
        metavar="DURATION",
        help="time between two readings, instead of the configured one",
    )


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Run until SIGTERM or SIGINT; SIGHUP reads the configuration again."""
    log = Log(sys.stdout, priorities=_is_journal(os.environ))

    def load() -> Config:
        loaded = configuration.load(config_path)
        for warning in loaded.warnings:
            log.warning(warning)
        return configuration.with_interval(loaded.config, arguments.interval)

    config = load()
    host = host_name()
    wakeup = Wakeup(SIGNALS)
    notifier = Notifier(os.environ, log.warning)
    moment = clock.sample()
    keeper = Keeper(
        SqliteStore(config.paths.state, config.history, log.warning), log, moment, clock.boot_id()
    )
    remembered = keeper.restore(RESTORE)
    cycles = Cycles(
        config,
        host,
        keeper,
        log,
        resume(remembered.standings, remembered.clock, remembered.readings, remembered.events),
        wakeup.poke,
    )
    log.info(
        f"clock-agent {__version__} watches {host} every {wording.duration(config.interval)};"
        f" configuration: {config.source or 'built-in defaults'}"
    )
    Daemon(config, load, cycles, wakeup, notifier, log, identity(host)).run()
    spawn.end_all()
    log.info("stopped")
    log.close(timeout=0.5)
    return 0


def _is_journal(environment: MutableMapping[str, str]) -> bool:
    """Whether standard output is the journal, which takes priorities as prefixes."""
    try:
        found = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # closed
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
