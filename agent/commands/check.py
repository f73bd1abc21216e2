"""Owns ``clock-agent check``: one answer for a health probe, with the exit status to match."""

from __future__ import annotations

import os
import sys

from agent import clock, gather, spawn
from agent.core import judge, report
from agent.core.settings import Config
from agent.core.typed import TYPE_CHECKING
from agent.host import host_name
from agent.lean import signal
from agent.options import Arguments, Option, declare

if TYPE_CHECKING:
    import argparse
    from types import FrameType
    from typing import Mapping, NoReturn, Optional, Tuple

#: --fail-on: the exit codes that pass besides 0. Not knowing never does.
PASSES: Mapping[str, Tuple[int, ...]] = {"warning": (), "critical": (1,)}
#: Seconds kept back from --timeout, or half of a short one: to end what is still running, to judge
#: and to print.
RESERVE = 0.3


OPTIONS = (
    Option("--live", "measure now, whatever the daemon has published"),
    Option("--json", "print one JSON document"),
    Option("--warning", "warn above this offset (implies --live)", metavar="DURATION"),
    Option("--critical", "critical above this offset (implies --live)", metavar="DURATION"),
    Option(
        "--redis",
        "compare with this Redis server's TIME instead of the configured ones (implies --live)",
        metavar="URL",
    ),
    Option(
        "--fail-on",
        "the mildest verdict with a non-zero exit status (default: %(default)s); "
        "not knowing never passes",
        choices=tuple(PASSES),
        default="warning",
    ),
    Option("--timeout", "answer within (default: %(default)s)", metavar="DURATION", default="5s"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``check``."""
    declare(parser, OPTIONS)


def run(arguments: Arguments, config_path: Optional[str]) -> int:
    """Print the verdict and return its exit status."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupted)
    from agent import config as configuration

    timeout = configuration.duration("--timeout", arguments.timeout)
    deadline = clock.monotonic() + timeout - min(RESERVE, timeout / 2)
    config = configuration.load(config_path).config
    live = arguments.live or arguments.warning or arguments.critical or arguments.redis
    if not live:
        published = _published(config, arguments)
        if published is not None:
            return published
    config = configuration.override(
        config,
        warning=arguments.warning,
        critical=arguments.critical,
        redis=arguments.redis,
    )
    result = measure(config, deadline)
    if arguments.json:
        import json

        print(json.dumps(report.as_dict(result), ensure_ascii=False))
    else:
        sys.stdout.write(report.text(result))
    return _status(result.assessment.verdict.exit_code, arguments.fail_on)


def _status(exit_code: int, fail_on: str) -> int:
    return 0 if exit_code in PASSES[fail_on] else exit_code


def _published(config: Config, arguments: Arguments) -> Optional[int]:
    """Repeat what the daemon has published, if it can be believed; None when it cannot."""
    from agent import published

    answer = published.read(os.path.join(config.paths.runtime, published.FILE_NAME))
    if answer is None:
        return None
    exit_code, text = answer
    if arguments.json:
        document = published.read_document(os.path.join(config.paths.runtime, published.JSON_NAME))
        if document is None:
            return None
        text = document
    sys.stdout.write(text)
    return _status(exit_code, arguments.fail_on)


def measure(config: Config, deadline: float) -> report.Report:
    """Take every reading once and judge it, by ``deadline`` (CLOCK_MONOTONIC) at the latest."""
    taken_at = clock.wall()
    observations = gather.once(config, deadline)
    return report.Report(
        host=host_name(),
        taken_at=taken_at,
        origin=report.LIVE,
        assessment=judge.assess(config.policy, observations),
        observations=observations,
        policy=config.policy,
    )


def _interrupted(_number: int, _frame: Optional[FrameType]) -> NoReturn:
    """A prober or a person gave up on us: end with what was asked on our behalf."""
    spawn.end_all()
    raise KeyboardInterrupt
