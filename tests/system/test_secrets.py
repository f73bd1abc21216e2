"""Owns the test that no secret leaves the program, however its owners' servers fail."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import Dict, Iterator

import pytest

from tests.support.command import clock_agent
from tests.support.daemon import Daemon
from tests.support.fakes import executable
from tests.support.notify_socket import NotifySocket
from tests.support.ports import free_port
from tests.support.redis_proxy import FakeRedis
from tests.support.references import ENCODED, PASSWORD
from tests.support.waiting import wait_for

_TOKEN = "T0kenInThePath"
_KEY = "R0utingKey0123456789abcdef012345"
_NEEDLES = (PASSWORD, ENCODED, "S3cr", _TOKEN, _KEY)
_COMMANDS = (
    ("check",),
    ("check", "--live"),
    ("check", "--live", "--json"),
    ("config", "check"),
    ("config", "show"),
    ("status",),
    ("status", "--json"),
    ("history",),
    ("history", "--json"),
    ("doctor",),
)
#: Repeats everything it is given: its input, its environment and how it was called.
_REPEATER = "#!/bin/sh\n{{ cat; env; tr '\\0' ' ' </proc/$$/cmdline; }} >>'{path}'\nexit 1\n"


@pytest.fixture
def servers() -> Iterator[Dict[str, str]]:
    """Redis servers that repeat the password in every way, or answer nothing at all."""
    shouted = f"-ERR {PASSWORD} {ENCODED}\r\n".encode()
    with (
        FakeRedis({b"AUTH": lambda words: b"-ERR you sent " + b" ".join(words) + b"\r\n"}) as echo,
        FakeRedis({b"TIME": shouted}) as late,
        FakeRedis(greeting=shouted) as greeting,
        socket.create_server(("127.0.0.1", 0)) as silent,
    ):
        ports = {
            "echo": echo.port,
            "late": late.port,
            "greeting": greeting.port,
            "silent": silent.getsockname()[1],
            "refused": free_port(),
        }
        login = f"us:{ENCODED}@127.0.0.1"
        urls = {name: f"redis://{login}:{port}" for name, port in ports.items()}
        urls["tls"] = f"rediss://{login}:{ports['late']}"
        urls["sentinel"] = f"redis+sentinel://{login}:{ports['echo']}/locks"
        urls["nameless"] = f"redis://us:{ENCODED}@no-such-host.invalid"
        yield urls


def test_no_secret_is_told_anywhere(private_dir: Path, servers: Dict[str, str]) -> None:
    systemd = NotifySocket(private_dir)
    key_file = private_dir / "key"
    key_file.write_text(f"{_KEY}\n")
    key_file.chmod(0o600)
    repeated = private_dir / "repeated"
    repeater = executable(private_dir / "repeater", _REPEATER.format(path=repeated))
    nowhere = f"127.0.0.1:{free_port()}"
    daemon = Daemon(
        private_dir,
        {
            "consecutive": 1,
            "chrony": {"program": "/nowhere/chronyc"},
            "service": {"enabled": False},
            "references": [
                {"name": name, "url": url, "timeout": "300ms"} for name, url in servers.items()
            ],
            "alerts": [
                {"type": "command", "argv": [repeater]},
                {"type": "webhook", "url": f"http://{nowhere}/services/{_TOKEN}"},
                {
                    "type": "pagerduty",
                    "routing_key_file": str(key_file),
                    "url": f"http://{nowhere}/v2",
                },
                {"type": "log"},
            ],
        },
    )
    daemon.start(systemd.environment(watchdog_seconds=10.0))
    try:
        daemon.wait_for_readings(3)
        wait_for(repeated.exists, what="an alert")
        wait_for(lambda: "sink pagerduty" in "\n".join(daemon.output), what="a failed sink")
        told = {
            " ".join(command): "".join(clock_agent("--config", str(daemon.config), *command)[1:3])
            for command in _COMMANDS
        }
        told["process list"] = Path(f"/proc/{daemon.pid}/cmdline").read_text()
        told["systemd"] = "\n".join(message.text for message in systemd.messages)
        daemon.signal(signal.SIGKILL)
        told["log"] = "\n".join(daemon.output)
        told["alert"] = repeated.read_text()
        for directory in (daemon.state, daemon.runtime):
            for file in directory.iterdir():
                told[file.name] = file.read_bytes().decode("latin-1")
    finally:
        daemon.close()
        systemd.close()
    assert len(told["check --live"]) > 200
    for where, text in told.items():
        assert not [needle for needle in _NEEDLES if needle in text], where
