"""Owns ``clock-agent check``: one answer for a health probe, with the exit status to match."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Mapping, NoReturn, Optional

from agent import clock, gather, spawn
from agent.core import judge, report
from agent.core.model import EXIT_CODES, Verdict
from agent.core.settings import Config, ReferenceSettings

if TYPE_CHECKING:
    import argparse

#: --fail-on: the exit status of each verdict. Not knowing always fails.
EXIT_STATUS: Mapping[str, Mapping[Verdict, int]] = {
    "warning": EXIT_CODES,
    "critical": {**EXIT_CODES, Verdict.WARNING: 0},
}
#: Seconds kept back from --timeout to judge and to print.
RESERVE = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``check``."""
    add = parser.add_argument
    add("--live", action="store_true", help="measure now, whatever the daemon has published")
    add("--json", action="store_true", help="print one JSON document")
    add("--warning", metavar="DURATION", help="warn above this offset (implies --live)")
    add("--critical", metavar="DURATION", help="critical above this offset (implies --live)")
    add(
        "--redis",
        metavar="URL",
        action="append",
        default=[],
        help="compare with this Redis server's TIME too (implies --live; may be repeated)",
    )
    add(
        "--fail-on",
        choices=tuple(EXIT_STATUS),
        default="warning",
        help="the mildest verdict with a non-zero exit status (default: %(default)s); "
        "not knowing never passes",
    )
    add("--timeout", metavar="DURATION", default="5s", help="answer within (default: %(default)s)")


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Print the verdict and return its exit status."""
    signal.signal(signal.SIGTERM, _interrupted)
    from agent import config as configuration

    deadline = clock.monotonic() + configuration.parse_duration(arguments.timeout, "--timeout")
    config = configuration.load(config_path).config
    live = arguments.live or arguments.warning or arguments.critical or arguments.redis
    published = None if live else _published(config, arguments)
    if published is not None:
        return published
    result = measure(override(config, arguments), deadline - RESERVE)
    if arguments.json:
        import json

        print(json.dumps(report.as_dict(result), ensure_ascii=False))
    else:
        sys.stdout.write(report.text(result))
    return EXIT_STATUS[arguments.fail_on][result.assessment.verdict]


def override(config: Config, arguments: argparse.Namespace) -> Config:
    """``config`` with the thresholds and references of the command line."""
    from agent import config as configuration

    policy = config.policy
    if arguments.warning:
        policy = policy._replace(
            offset_warning=configuration.parse_duration(arguments.warning, "--warning")
        )
    if arguments.critical:
        policy = policy._replace(
            offset_critical=configuration.parse_duration(arguments.critical, "--critical")
        )
    configuration.require_ordered(policy)
    references = config.references + tuple(
        ReferenceSettings(name=f"redis{number}", url=configuration.parse_redis(url, "--redis"))
        for number, url in enumerate(arguments.redis, start=1)
    )
    return config._replace(policy=policy, references=references)


def measure(config: Config, deadline: float) -> report.Report:
    """Take every reading once and judge it, by ``deadline`` on the monotonic clock at the latest."""
    returned = threading.Event()
    gathering = gather.Gathering(gather.build(config), returned.set)
    taken_at = clock.wall()
    gathering.start()
    while True:
        left = min(gathering.left, deadline - clock.monotonic())
        if left <= 0:
            break
        returned.wait(left)
        returned.clear()
    observations = gathering.observations()
    spawn.end_all()
    return report.Report(
        host=os.uname().nodename,
        taken_at=taken_at,
        origin="live",
        assessment=judge.assess(config.policy, observations),
        observations=observations,
        policy=config.policy,
    )
