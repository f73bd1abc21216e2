"""Owns what is measured: the program laid out as a package lays it out, and a host around it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import yaml

from tests.support import fakes, needs
from tests.support.chronyd import Chronyd
from tests.support.faketime_server import TimeServer
from tests.support.redis_server import redis_server

ROOT = Path(__file__).resolve().parents[1]
#: What the agent stands on, as packages have it: pure Python but for psutil.
VENDOR = ("psutil", "statsd", "yaml", "sdnotify")
_LAUNCHER = """#!{python} -ISB
import sys
sys.path += [{directory!r}, {vendor!r}]
from agent.cli import main
sys.exit(main(status_file={status!r}))
"""


def _python() -> str:
    """The Python that the package starts, where it is new enough; else the one running this."""
    system, enough = "/usr/bin/python3", "import sys; sys.exit(sys.version_info < (3, 9))"
    try:
        subprocess.run([system, "-IS", "-c", enough], check=True)
    except (OSError, subprocess.CalledProcessError):
        return os.path.realpath(sys.executable)
    return system


PYTHON = _python()


class Host(NamedTuple):
    """A host to measure on: the programs the agent asks, and the agent's settings for them."""

    settings: Dict[str, Any]
    #: What an administrator would run by hand instead, one program after the other.
    by_hand: Dict[str, List[str]]


def launcher(directory: Path) -> Path:
    """Lay the program out in ``directory`` with byte code, and return what starts it.

    It believes the status file ``status`` in ``directory``.
    """
    installed = Path(sysconfig.get_path("purelib"))
    sources = {"agent": ROOT / "agent", **{f"vendor/{name}": installed / name for name in VENDOR}}
    for name, source in sources.items():
        unwanted = shutil.ignore_patterns("__pycache__", "_yaml*.so")
        shutil.copytree(source, directory / name, ignore=unwanted)
    compiling = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([PYTHON, "-IS", *compiling, str(directory)], check=True)
    text = _LAUNCHER.format(
        python=PYTHON,
        directory=str(directory),
        vendor=str(directory / "vendor"),
        status=str(directory / "status"),
    )
    return Path(fakes.executable(directory / "clock-agent", text))


def configuration(directory: Path, settings: Dict[str, Any]) -> Path:
    """Write a configuration file whose paths are private."""
    path = directory / "config.yaml"
    private = {"state": str(directory), "runtime": str(directory)}
    path.write_text(yaml.safe_dump({"paths": private, "alerts": [], **settings}))
    return path


@contextmanager
def healthy(directory: Path) -> Iterator[Host]:
    """chronyd synchronised, systemd content, one Redis; all on loopback, all private."""
    with ExitStack() as stack:
        server = stack.enter_context(TimeServer())
        chronyd = stack.enter_context(Chronyd(directory, server))
        redis = stack.enter_context(redis_server(directory))
        chronyd.wait_until_synchronised()
        systemctl = _systemctl(directory, chronyd.pid)
        yield Host(
            settings={
                "chrony": {"program": chronyd.program, "address": str(chronyd.socket)},
                "service": {"program": systemctl},
                "references": [{"name": "locks", "url": redis.url}],
            },
            by_hand={
                "chronyc": [chronyd.program, "-h", str(chronyd.socket), "-c", "-n", "tracking"],
                "systemctl show": [systemctl, "show", "chrony.service", "chronyd.service"],
                "redis-cli TIME": [needs.program("redis-cli"), "-u", redis.url, "TIME"],
            },
        )


@contextmanager
def silent(directory: Path) -> Iterator[Host]:
    """chronyd stopped in its tracks, a Redis that accepts and says nothing, systemctl stuck."""
    with ExitStack() as stack:
        chronyd = stack.enter_context(Chronyd(directory))
        redis = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        systemctl = fakes.executable(directory / "stuck", "#!/bin/sh\nexec sleep 60\n")
        chronyd.freeze()
        yield Host(
            settings={
                "chrony": {"program": chronyd.program, "address": str(chronyd.socket)},
                "service": {"program": systemctl},
                "references": [
                    {"name": "locks", "url": f"redis://127.0.0.1:{redis.getsockname()[1]}"}
                ],
            },
            by_hand={},
        )


def has_systemd() -> bool:
    """Whether systemd runs this machine; else a program that prints its answer stands in."""
    return os.path.isdir("/run/systemd/system")


def _systemctl(directory: Path, pid: int) -> str:
    return needs.program("systemctl") if has_systemd() else fakes.systemctl(directory, pid)


def daemon(start: Path, config: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start the daemon; one line per reading goes to ``log``."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [str(start), "--config", str(config), "run"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
