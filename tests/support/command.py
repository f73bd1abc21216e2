"""Owns running clock-agent in tests as a user would: its own process, its words, its status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Mapping, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]


class Answer(NamedTuple):
    """What one run of the program came to."""

    status: int
    stdout: str
    stderr: str
    #: Seconds it took.
    elapsed: float

    @property
    def first(self) -> str:
        """The line a prober shows."""
        return self.stdout.partition("\n")[0]

    @property
    def document(self) -> Dict[str, Any]:
        """What ``--json`` printed."""
        document: Dict[str, Any] = json.loads(self.stdout)
        return document

    def condition(self, name: str) -> Dict[str, Any]:
        """One condition of what ``--json`` printed."""
        found: Dict[str, Any] = next(c for c in self.document["conditions"] if c["name"] == name)
        return found


def clock_agent(*arguments: str, environment: Mapping[str, str] = {}) -> Answer:
    """Run ``clock-agent`` with ``arguments`` and ``environment`` added to ours."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "agent", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    elapsed = time.monotonic() - started
    answer = Answer(done.returncode, done.stdout.decode(), done.stderr.decode(), elapsed)
    assert "Traceback" not in answer.stdout + answer.stderr, answer
    return answer


def configuration(directory: Path, settings: Mapping[str, Any]) -> str:
    """Write a configuration whose paths are private to ``directory``; return its path."""
    file = directory / "config.yaml"
    paths = {"runtime": str(directory / "run"), "state": str(directory / "state")}
    file.write_text(yaml.safe_dump({"paths": paths, **settings}))
    return str(file)
