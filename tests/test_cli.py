"""Owns the tests that no way of failing looks like a verdict: one clear line and status 3."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional, Sequence

import pytest

from agent import clock
from agent.publish import Publisher
from tests.support.command import ROOT, clock_agent, configuration
from tests.support.fakes import executable
from tests.support.redis_proxy import FakeRedis
from tests.support.waiting import wait_for

UNKNOWN = 3
_BAD_CONFIGURATIONS = {
    "a tab": b"a:\n\tb: 1\n",
    "no mapping": b"- 1\n",
    "an unknown key": b"intervall: 5m\n",
    "a duplicate key": b"interval: 5m\ninterval: 6m\n",
    "no unit": b"interval: 5\n",
    "Latin-1": b"tags: {a: \xe9}\n",
    "a NUL byte": b"interval: \0\n",
    "two documents": b"---\ninterval: 5m\n---\ninterval: 6m\n",
    "an alias bomb": b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "two MiB": b"# comment\n" * 210_000,
}


@pytest.mark.parametrize("name", _BAD_CONFIGURATIONS)
@pytest.mark.parametrize("verb", [["check"], ["check", "--live"], ["run"], ["config", "check"]])
def test_a_bad_configuration_is_unknown_and_names_the_file(
    tmp_path: Path, name: str, verb: Sequence[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(_BAD_CONFIGURATIONS[name])
    answer = clock_agent("--config", str(file), *verb)
    assert answer.status == UNKNOWN
    said = answer.stdout + answer.stderr
    assert str(file) in said
    if "check" in verb[:1]:
        assert answer.stdout.startswith("CLOCK UNKNOWN - ")
        assert answer.stdout.count("\n") == 1


def test_a_configuration_that_is_missing_unreadable_or_a_directory_is_unknown(
    tmp_path: Path,
) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/zero")):
        answer = clock_agent("--config", str(path), "check")
        assert answer.status == UNKNOWN, answer
        assert answer.stdout.startswith("CLOCK UNKNOWN - ")
        assert str(path) in answer.stdout


def test_the_configuration_may_be_named_before_the_verb_and_after_it(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("interval: 7m\n")
    before = clock_agent("--config", str(file), "config", "show")
    assert "interval: 7m" in before.stdout
    assert clock_agent("config", "show", "--config", str(file)).stdout == before.stdout
    for words in (["check", "--live"], ["run"], ["status"]):
        missing = clock_agent(*words, "--config", "/nowhere/config.yaml")
        assert missing.status == UNKNOWN
        assert "/nowhere/config.yaml: no such file" in missing.stdout + missing.stderr


def test_each_mistake_of_a_configuration_is_a_line_of_its_own_and_check_has_one_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("interval: 5\nintervall: 5m\n")
    lines = clock_agent("--config", str(file), "config", "check").stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["clock-agent", "clock-agent"]
    said = clock_agent("--config", str(file), "check").stdout
    assert said == "CLOCK UNKNOWN - " + "; ".join(x[len("clock-agent: ") :] for x in lines) + "\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["chek"],
        ["check", "--nonsense"],
        ["check", "--warning", "soon"],
        ["check", "--warning", "3s", "--critical", "2s"],
        ["check", "--redis", "http://example.test"],
        ["check", "--timeout", "5"],
        ["check", "--fail-on", "maybe"],
        ["run", "--interval", "0s"],
        ["config"],
    ],
)
def test_wrong_usage_is_unknown_and_one_line(arguments: Sequence[str]) -> None:
    answer = clock_agent(*arguments)
    assert answer.status == UNKNOWN
    assert (answer.stdout + answer.stderr).count("\n") == 1


_CHRONYCS = {
    "rubbish": "echo rubbish",
    "nothing": "exit 0",
    "nothing but a failure": "exit 1",
    "a usage message": "echo 'Usage: chronyc'; exit 1",
    "binary": "head -c 4096 /dev/urandom",
    "a megabyte": "head -c 1048576 /dev/zero | tr '\\0' 1",
    "no end": "yes 1,2,3",
    "status 126": "exit 126",
    "status 127": "exit 127",
    "a signal": "kill -SEGV $$",
    "NaN": "echo 7F000001,127.0.0.1,2,1.0,nan,nan,nan,nan,nan,nan,nan,nan,nan,Normal",
    "a number too large": "echo 7F000001,x,2,1e400,1e400,0,0,0,0,0,0,0,0,Normal",
}


@pytest.mark.parametrize("name", _CHRONYCS)
def test_a_chronyc_that_says_nothing_of_use_is_a_miss_with_a_reason(
    tmp_path: Path, name: str
) -> None:
    chronyc = executable(tmp_path / "chronyc", f"#!/bin/sh\n{_CHRONYCS[name]}\n")
    settings = {"chrony": {"program": chronyc}, "service": {"enabled": False}}
    answer = clock_agent("--config", configuration(tmp_path, settings), "check", "--live")
    assert answer.status == 2, answer
    assert "nobody vouches for this clock" in answer.first
    assert "offset=" not in answer.first
    assert answer.stdout.isprintable() or answer.stdout.replace("\n", "").isprintable()
    assert answer.elapsed < 3.5


@pytest.mark.parametrize("program", ["/nowhere/chronyc", "/etc/passwd", "/tmp"])
def test_a_chronyc_that_cannot_be_run_is_a_miss_that_names_it(tmp_path: Path, program: str) -> None:
    settings = {"chrony": {"program": program}, "service": {"enabled": False}}
    answer = clock_agent("--config", configuration(tmp_path, settings), "check", "--live")
    assert answer.status == 2
    assert program in answer.first


def run_with_stdout(stdout: Optional[int], *arguments: str) -> int:
    """The exit status when standard output is ``stdout``; None: closed."""
    closed = "exec >&-; " if stdout is None else ""
    done = subprocess.run(
        ["/bin/sh", "-c", f'{closed}exec "$@"', "sh", sys.executable, "-m", "agent", *arguments],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("arguments", [["check", "--live"], ["check", "--json"], ["chek"]])
def test_an_answer_that_cannot_be_written_is_unknown(arguments: Sequence[str]) -> None:
    with open("/dev/full", "wb") as full:
        assert run_with_stdout(full.fileno(), *arguments) == UNKNOWN
    assert run_with_stdout(None, *arguments) == UNKNOWN
    reader, writer = os.pipe()
    os.close(reader)
    assert run_with_stdout(writer, *arguments) == UNKNOWN
    os.close(writer)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_check_that_is_interrupted_is_unknown_and_leaves_no_child(
    tmp_path: Path, number: signal.Signals
) -> None:
    started = tmp_path / "started"
    stuck = executable(
        tmp_path / "stuck",
        f"#!/bin/sh\necho $$ >{started}.new\nmv {started}.new {started}\nexec sleep 600\n",
    )
    settings = {"chrony": {"program": stuck}, "service": {"enabled": False}}
    config = configuration(tmp_path, settings)
    process = subprocess.Popen(
        [sys.executable, "-m", "agent", "--config", config, "check", "--live"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child = int(
        wait_for(lambda: started.read_text() if started.exists() else None, what="the child")
    )
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=10)
    assert process.returncode == UNKNOWN
    assert stdout.startswith(b"CLOCK UNKNOWN - ")
    assert b"Traceback" not in stderr
    wait_for(lambda: not running(child), what="the child to end")


def running(pid: int) -> bool:
    """Whether a process exists and is more than a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_missing_dependency_is_unknown_and_named(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("---\ninterval: 5m\n")  # more than plain: PyYAML has to read it
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from agent.cli import main\n"
    code += f"sys.exit(main(['--config', {str(config)!r}, 'check']))"
    done = subprocess.run(
        [sys.executable, "-IS", "-c", code], capture_output=True, timeout=30, check=False
    )
    assert done.returncode == UNKNOWN
    assert done.stdout.startswith(b"CLOCK UNKNOWN - ")
    assert b"yaml" in done.stdout
    assert b"Traceback" not in done.stderr


def test_a_published_verdict_is_repeated_with_its_status(tmp_path: Path) -> None:
    config = configuration(tmp_path, {})
    runtime = tmp_path / "run"
    runtime.mkdir()
    publisher = Publisher(str(runtime))
    until = int((clock.boottime() + 60) * 1e9)
    publisher.publish(1, "CLOCK WARNING - as published\n", until, {"exit_code": 1})
    answer = clock_agent("--config", config, "check")
    assert (answer.status, answer.stdout) == (1, "CLOCK WARNING - as published\n")
    assert clock_agent("--config", config, "check", "--fail-on", "critical").status == 0
    assert clock_agent("--config", config, "check", "--json").document == {"exit_code": 1}
    assert "as published" not in clock_agent("--config", config, "check", "--live").stdout


def test_a_check_ends_within_its_timeout_with_what_is_known(tmp_path: Path) -> None:
    stuck = executable(tmp_path / "stuck", "#!/bin/sh\nsleep 600\n")
    settings = {"chrony": {"program": stuck}, "service": {"program": stuck}}
    config = configuration(tmp_path, settings)
    began = time.monotonic()
    answer = clock_agent("--config", config, "check", "--live", "--timeout", "1s")
    assert time.monotonic() - began < 1.8
    assert answer.status == 2
    assert "was waited for no longer than" in answer.stdout


@pytest.mark.parametrize("charset", ["latin-1", "ascii", "utf-8"])
def test_a_name_the_terminal_cannot_write_is_written_as_an_escape(
    tmp_path: Path, charset: str
) -> None:
    settings = {
        "chrony": {"enabled": False},
        "service": {"enabled": False},
        "references": [{"name": "locks", "url": "unix:///nowhere/\u6642\u8a08.sock"}],
    }
    config = configuration(tmp_path, settings)
    environment = {"PYTHONIOENCODING": charset}
    answer = clock_agent("--config", config, "check", "--live", environment=environment)
    assert answer.status == 2
    assert answer.first.startswith("CLOCK CRITICAL")


def test_help_and_version_are_no_verdict_and_no_failure() -> None:
    for arguments in (["--help"], ["--version"], ["check", "--help"]):
        answer = clock_agent(*arguments)
        assert answer.status == 0
        assert answer.stdout
        assert not answer.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_daemon_started_with_closed_streams_lends_their_numbers_to_no_file(
    tmp_path: Path, closed: str
) -> None:
    """What is written to standard output would end up in the middle of its memory."""
    chronyc = executable(tmp_path / "chronyc", "#!/bin/sh\nexit 1\n")
    settings = {"chrony": {"program": chronyc}, "service": {"enabled": False}, "consecutive": 1}
    config = configuration(tmp_path, {**settings, "interval": "200ms", "alerts": [{"type": "log"}]})
    errors = tmp_path / "errors"
    with errors.open("wb") as stderr, open(os.devnull, "wb") as stdout:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec {closed}; exec "$@"', "sh", sys.executable, "-m", "agent"]
            + ["--config", config, "run"],
            cwd=ROOT,
            stdout=stdout,
            stderr=stderr,
        )
    try:
        memory = tmp_path / "state" / "state.db-wal"
        wait_for(lambda: memory.exists() and memory.stat().st_size, what="its memory")
        for number in range(3):
            where = os.readlink(f"/proc/{process.pid}/fd/{number}")
            assert where in (os.devnull, str(errors)), where
    finally:
        process.terminate()
        process.wait(timeout=10)
    assert "Traceback" not in errors.read_text()


def test_a_character_that_the_locale_cannot_write_is_escaped(tmp_path: Path) -> None:
    file = tmp_path / "\u00fc.yaml"
    file.write_text("a: 1\n")
    answer = clock_agent(
        "--config", str(file), "check", environment={"PYTHONIOENCODING": "ascii:strict"}
    )
    assert answer.status == UNKNOWN
    assert "\\xfc.yaml:1: a: is not a known key" in answer.first


@pytest.mark.parametrize("name", ["a|b=1;2;3", "a\nCLOCK OK", "a\x1b[31mb", "\udcff", "x" * 5000])
def test_the_name_of_a_file_can_forge_neither_lines_nor_performance_data(name: str) -> None:
    answer = clock_agent("--config", name, "check")
    assert answer.status == UNKNOWN
    assert answer.stdout.count("\n") == 1
    assert "|" not in answer.stdout
    assert answer.stdout.rstrip("\n").isprintable()
    assert len(answer.stdout) < 2200
    assert clock_agent("--config", name, "status").stderr.replace("\n", "").isprintable()


def test_a_short_timeout_leaves_time_to_look(tmp_path: Path) -> None:
    config = configuration(tmp_path, {"chrony": {"enabled": False}, "service": {"enabled": False}})
    with FakeRedis() as redis:
        url = f"redis://127.0.0.1:{redis.port}"
        answer = clock_agent("--config", config, "check", "--redis", url, "--timeout", "300ms")
    assert answer.status == 0, answer


def test_a_limit_on_memory_is_told_as_such(tmp_path: Path) -> None:
    chronyc = executable(tmp_path / "chronyc", "#!/bin/sh\nexit 1\n")
    settings = {"chrony": {"program": chronyc}, "service": {"enabled": False}}
    config = configuration(tmp_path, settings)
    program = f"""
import sys, threading
sys.path.insert(0, {str(ROOT)!r})
from agent.cli import main
threading.stack_size(1 << 46)  # more than there can be, for each thread
sys.exit(main(["--config", {config!r}, "run"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == UNKNOWN
    assert "no more memory or threads" in done.stderr
    assert "Traceback" not in done.stderr
