"""Owns ``clock-agent doctor``: everything found on this host, or in an image, with its remedy.

It looks and changes nothing: no alert is sent, no unit touched, no packet goes to StatsD.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Iterator, List, Optional, Tuple

from agent import clock, gather, processes, published, spawn
from agent import config as configuration
from agent.core import diagnosis, doctor, image_judge, image_service, judge, rivals
from agent.core.diagnosis import Diagnosis
from agent.core.image import Image
from agent.core.model import ServiceState
from agent.core.service_view import Program, leaders
from agent.core.settings import Config, ServiceSettings
from agent.errors import ConfigError, ForbiddenConfig, UsageError
from agent.tree import Tree

if TYPE_CHECKING:
    import argparse

#: Seconds for all readings together; each probe has a shorter deadline of its own.
DEADLINE = 6.0
#: Seconds for asking a guest tool.
ASKING = 1.0
_HERE = Image(Tree("/"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``doctor``."""
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="judge the files of an image or chroot that is not running, instead of this host",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Print the findings, worst first, and return the exit status of the worst."""
    if arguments.root is None:
        subject = os.uname().nodename
        found = tuple(_live(config_path))
    else:
        subject = arguments.root
        found = judge_image(arguments.root)
    if arguments.json:
        import json

        print(json.dumps(diagnosis.as_dict(subject, found), ensure_ascii=False))
    else:
        sys.stdout.write(diagnosis.text(subject, found))
    return diagnosis.worst(found).exit_code


def judge_image(root: str) -> Tuple[Diagnosis, ...]:
    """Everything found in the tree at ``root``. Raises UsageError when it cannot be looked at."""
    try:
        os.listdir(root)
    except NotADirectoryError:
        raise UsageError(f"--root {root!r} is not a directory") from None
    except FileNotFoundError:
        what = "is a link that leads nowhere" if os.path.islink(root) else "does not exist"
        raise UsageError(f"--root {root!r} {what}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", "") or error
        raise UsageError(f"--root {root!r} cannot be read: {why}") from None
    directory = os.path.realpath(root)
    outside = "" if directory == "/" else directory
    found = image_judge.judge(Image(Tree(directory), root=outside))
    return tuple(
        each._replace(where=tuple(outside + path for path in each.where)) for each in found
    )


def _live(config_path: Optional[str]) -> Iterator[Diagnosis]:
    problems: Tuple[str, ...] = ()
    warnings: Tuple[str, ...] = ()
    forbidden = ""
    try:
        config, warnings = configuration.load(config_path)
    except ForbiddenConfig as error:
        config, forbidden = Config(), error.message
    except ConfigError as error:
        config, problems = Config(), error.problems
    seen = gather.once(config, clock.monotonic() + DEADLINE)
    assessment = judge.assess(config.policy, seen)
    yield from doctor.conditions(assessment, seen, image_service.masks(_HERE))
    if _sees_the_unit(seen.service):
        yield from doctor.disk_against_memory(seen.service, image_judge.time_service(_HERE))
    yield from _around_the_service(config, seen.service)
    own = _agent_facts(config)._replace(
        config_problems=problems,
        config_warnings=warnings,
        config_forbidden=forbidden,
        config_path=config_path or configuration.DEFAULT_PATH,
    )
    yield from doctor.agent(own)
    if config.statsd.enabled:
        from agent.commands import doctor_statsd

        yield doctor_statsd.look(config.statsd)


def _sees_the_unit(service: Optional[ServiceState]) -> bool:
    """False in a container that may ask its host's systemd: its files are not the host's."""
    fragment = service.detail.get("fragment_path") if service else None
    return bool(fragment) and _HERE.files.entry(str(fragment)).kind != "missing"


def _around_the_service(config: Config, service: Optional[ServiceState]) -> Iterator[Diagnosis]:
    """What lies behind the service: other programs, the configuration of chronyd."""
    chronyds = _peeked("chronyd")
    others = [program for name in rivals.DISCIPLINERS for program in _peeked(name)]
    yield from rivals.disciplining(others, service)
    yield from rivals.guests([_guest(p) for name in rivals.GUEST_TOOLS for p in _peeked(name)])
    yield from rivals.chronyds(chronyds)
    for each in chronyds:
        if "-x" in processes.arguments(each.pid):
            yield rivals.without_control(each.pid)
    if config.chrony.enabled:
        path = next((p for each in chronyds for p in _conf_of(each.pid)), "")
        yield from image_judge.configuration(_HERE, path, _restart(service))


def _restart(service: Optional[ServiceState]) -> Tuple[str, ...]:
    unit = service.unit if service else ""
    if not unit.startswith("chron"):
        return ("# restart chronyd; it may step the clock: stop the workers first",)
    return (f"systemctl restart {unit}  # may step the clock: stop the workers first",)


def _peeked(name: str) -> List[Program]:
    """The living processes of that name, without helpers and those in containers."""
    peeked = [processes.peek(each.pid) for each in processes.find_named(name)]
    alive = leaders(program for program in peeked if program is not None)
    # The kernel cuts a name after 15 characters; the one it was found by is whole.
    return [program._replace(name=name) for program in alive if not program.contained]


def _guest(program: Program) -> rivals.Guest:
    ask = rivals.GUEST_TOOLS[program.name].ask
    answer = spawn.run(ask, ASKING).stdout if ask else ""
    return rivals.Guest(program, processes.arguments(program.pid), answer)


def _conf_of(pid: int) -> Iterator[str]:
    """The ``-f`` of a running chronyd: the file it has really read."""
    words = processes.arguments(pid)
    for option, value in zip(words, words[1:]):
        if option == "-f" and value.startswith("/"):
            yield value


def _agent_facts(config: Config) -> doctor.AgentFacts:
    status = os.path.join(config.paths.runtime, published.FILE_NAME)
    return doctor.AgentFacts(
        unit=_agent_unit(config.service),
        published=published.read(status) is not None,
        state_trouble=_state_trouble(config.paths.state, config.history.max_size),
        state_directory=config.paths.state,
    )


def _agent_unit(settings: ServiceSettings) -> Optional[ServiceState]:
    from agent.probes.systemd import ServiceProbe

    state = ServiceProbe(settings._replace(unit=image_judge.AGENT_UNIT)).read()
    spawn.end_all()
    return state if state.load_state else None


def _state_trouble(path: str, size: int) -> str:
    """Why the daemon cannot keep its state at ``path``; ``""`` when it can."""
    try:
        status, disk = os.stat(path), os.statvfs(path)
    except OSError as error:
        return error.strerror or "cannot be read"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory"
    if disk.f_flag & os.ST_RDONLY:
        return "is on a file system that is mounted read-only"
    if not status.st_mode & stat.S_IWUSR:
        return "its owner may not write there"
    free = disk.f_bavail * disk.f_frsize
    if free < size:
        return f"only {free >> 20} MiB are free on its disk, and it may need {size >> 20}"
    return ""
