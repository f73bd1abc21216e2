"""``clock-agent config`` as it is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agent", *words], capture_output=True, text=True, check=False
    )


def test_a_valid_file_is_called_valid(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("interval: 1m\n")
    done = run("--config", str(path), "config", "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path}: valid\n", "")


def test_every_problem_is_printed_and_the_status_is_3(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("intervall: 1m\nconsecutive: 0\n")
    done = run("--config", str(path), "config", "check")
    assert done.returncode == 3
    printed = done.stdout + done.stderr
    assert f"{path}:1: intervall: is not a known key; did you mean 'interval'?" in printed
    assert f"{path}:2: consecutive: 0 is out of bounds; accepted is 1 to 100" in printed
    assert "Traceback" not in printed


def test_warnings_do_not_make_a_file_invalid(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("alerts: []\n")
    done = run("--config", str(path), "config", "check")
    assert (done.returncode, done.stdout) == (0, f"{path}: valid\n")
    assert done.stderr == f"warning: {path}:1: alerts: is empty; nobody is told of anything\n"


def test_what_is_shown_is_a_file_that_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("interval: 1m\n")
    shown = run("--config", str(path), "config", "show")
    assert shown.returncode == 0
    assert "interval: 1m\n" in shown.stdout
    path.write_text(shown.stdout)
    assert run("--config", str(path), "config", "check").returncode == 0


def test_the_sample_is_printed_without_any_file() -> None:
    done = run("config", "sample")
    assert done.returncode == 0
    assert "#interval: 5m\n" in done.stdout


def test_an_unknown_action_is_a_usage_error() -> None:
    done = run("config", "chek")
    assert done.returncode == 3
    assert "Traceback" not in done.stdout + done.stderr
