"""Owns running the real daemon in tests, as its own process, with everything it touches private."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

import yaml

from tests.support.fakes import executable
from tests.support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
#: Writes each alert it is given as one line into a file.
_RECORDER = "#!/bin/sh\n{{ tr -d '\\n'; echo; }} >>'{path}'\n"


class Daemon:
    """``clock-agent run`` on a configuration of its own."""

    def __init__(self, directory: Path, settings: Mapping[str, Any]) -> None:
        """``settings`` are the configuration; paths, sinks and StatsD default to private ones."""
        self.directory = directory
        self.runtime = directory / "run"
        self.state = directory / "state"
        self.runtime.mkdir(parents=True, exist_ok=True)
        self.state.mkdir(exist_ok=True)
        self._alerts = directory / "alerts"
        recorder = executable(directory / "record", _RECORDER.format(path=self._alerts))
        self.config = directory / "config.yaml"
        self._defaults: Dict[str, Any] = {
            "interval": "200ms",
            "confirm_interval": "200ms",
            "statsd": {"enabled": False},
            "alerts": [{"type": "command", "argv": [recorder]}],
            "paths": {"runtime": str(self.runtime), "state": str(self.state)},
        }
        self.configure(settings)
        self._output = directory / "output"
        self.process: Optional[subprocess.Popen[bytes]] = None

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Write the configuration; ``reload`` makes a running daemon read it."""
        draft = self.config.with_suffix(".new")
        draft.write_text(yaml.safe_dump({**self._defaults, **settings}))
        os.rename(draft, self.config)

    def start(self, environment: Mapping[str, str] = {}, output: Optional[int] = None) -> None:
        """Start the daemon with ``environment`` added to ours; ``output``: a descriptor to print
        to instead of the file that ``output`` reads."""
        with self._output.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "agent", "--config", str(self.config), "run"],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=file if output is None else output,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None
        return self.process.pid

    @property
    def output(self) -> List[str]:
        """The lines it has printed."""
        return self._output.read_text().splitlines()

    @property
    def readings(self) -> List[str]:
        """The lines it has printed about readings."""
        return [line for line in self.output if line.startswith("CLOCK ")]

    @property
    def published(self) -> str:
        """The first line of the verdict that ``check`` repeats."""
        return (self.runtime / "status").read_text().splitlines()[1]

    @property
    def alerts(self) -> List[Dict[str, Any]]:
        """The alerts that have reached the recording sink, oldest first."""
        if not self._alerts.exists():
            return []
        return [json.loads(line) for line in self._alerts.read_text().splitlines() if line]

    def wait_for_readings(self, count: int, timeout: float = 20.0) -> List[str]:
        """Wait until it has printed ``count`` readings; return all of them."""

        def enough() -> List[str]:
            assert self.process is not None
            assert self.process.poll() is None, "\n".join(self.output[-20:])
            return self.readings if len(self.readings) >= count else []

        return wait_for(enough, timeout=timeout, what=f"{count} readings")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def stop(self, timeout: float = 5.0) -> int:
        """End it with SIGTERM and return its exit status."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def close(self) -> None:
        """End it, whatever state it is in; asked first, for it ends what it has started."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
