"""Owns the tests of agent.probes.systemd: a systemctl of our own says what no real one would."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Callable

import pytest

from agent.core.model import ServiceState, Verdict
from agent.core.settings import ServiceSettings
from agent.core.units import FAMILY
from agent.probes.systemd import ServiceProbe
from tests.support.nobody import as_nobody

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "systemctl"
Reader = Callable[..., ServiceState]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Reads the state from a systemctl that is this shell script; systemd is up unless not."""

    def reader(script: str, unit: str = "auto", booted: bool = True) -> ServiceState:
        program = tmp_path / "systemctl"
        program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{script}\n', "utf-8")
        program.chmod(0o755)
        where = tmp_path if booted else tmp_path / "nowhere"
        return ServiceProbe(ServiceSettings(program=str(program), unit=unit), str(where)).read()

    return reader


def running_here(active: str = "d01-baseline/a-active") -> str:
    """A healthy answer whose main process is this very test, renamed below."""
    return f"sed 's/^MainPID=[1-9].*/MainPID={os.getpid()}/' {CORPUS}/{active}.show"


def test_one_question_is_asked_for_the_whole_family(read: Reader, tmp_path: Path) -> None:
    read(f"cat {CORPUS}/d01-baseline/b-stopped.show")
    asked = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert len(asked) == 1
    assert asked[0].startswith("show --no-pager --property=Id,")
    names = asked[0].split(" -- ")[1].split()
    assert all(any(fnmatch(unit, name) for name in names) for unit in FAMILY)


def test_of_units_without_a_file_only_a_loaded_one_is_asked_for(tmp_path: Path) -> None:
    asked, program = tmp_path / "asked", tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >{asked}\n', "utf-8")
    program.chmod(0o755)
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / "ntpd.service").symlink_to("/dev/null")
    directories = (str(tmp_path / "nowhere"), str(tmp_path / "units"))
    ServiceProbe(ServiceSettings(program=str(program)), str(tmp_path), directories).read()
    names = asked.read_text("utf-8").split(" -- ")[1].split()
    assert names[:2] == ["chronyd.service", "chrony.service"]
    assert "ntpd.service" in names
    assert "ntp.servic[e]" in names


def test_a_name_from_the_configuration_is_asked_for_as_a_name(read: Reader, tmp_path: Path) -> None:
    read("exit 1", unit="--force")
    asked = (tmp_path / "asked").read_text("utf-8")
    assert asked.index(" -- ") < asked.index("--force.service")


def test_a_masked_unit_is_reported_with_its_remedy(read: Reader) -> None:
    state = read(f"cat {CORPUS}/a08-mask-real-name/5-mask-now.show")
    assert (state.cause, state.verdict) == ("masked", Verdict.CRITICAL)
    assert "systemctl unmask chronyd.service" in state.advice


def test_another_program_under_the_units_pid_is_seen(read: Reader) -> None:
    assert read(running_here()).cause == "wrong-program"


def test_a_pid_that_nobody_has_is_seen(read: Reader) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    script = running_here().replace(str(os.getpid()), str(child.pid))
    assert read(script).cause == "process-gone"


def test_a_hung_systemctl_is_unknown_within_the_promised_time(read: Reader) -> None:
    started = time.monotonic()
    state = read("sleep 60")
    assert (state.cause, state.verdict) == ("systemctl-hung", Verdict.UNKNOWN)
    assert time.monotonic() - started < ServiceProbe.timeout + 0.5


def test_a_hung_systemctl_leaves_no_process_behind(read: Reader, tmp_path: Path) -> None:
    read(f"echo $$ > {tmp_path}/pid; sleep 60 & wait")
    pid = int((tmp_path / "pid").read_text("utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_unreachable_bus_is_unknown_and_not_inactive(read: Reader) -> None:
    state = read("echo 'Failed to connect to bus: Connection refused' >&2; exit 1")
    assert (state.cause, state.verdict) == ("bus-unreachable", Verdict.UNKNOWN)
    assert "Connection refused" in state.what
    assert not state.active_state


def test_rubbish_is_unknown_and_quoted_without_its_control_characters(read: Reader) -> None:
    state = read(r"printf 'lo\033[31m\000\377 rem ipsum'")
    assert (state.cause, state.verdict) == ("unreadable", Verdict.UNKNOWN)
    assert "\033" not in state.what


def test_a_megabyte_of_rubbish_is_unknown(read: Reader) -> None:
    assert read("yes | head -c 1048576").verdict is Verdict.UNKNOWN


def test_a_missing_systemctl_where_systemd_runs_is_unknown(tmp_path: Path) -> None:
    probe = ServiceProbe(ServiceSettings(program=str(tmp_path / "none")), str(tmp_path))
    assert probe.read().cause == "systemctl-missing"


def test_a_systemctl_that_may_not_be_run_is_unknown(tmp_path: Path) -> None:
    state = ServiceProbe(ServiceSettings(program=str(tmp_path)), str(tmp_path)).read()
    assert (state.cause, state.verdict) == ("systemctl-unusable", Verdict.UNKNOWN)


def test_without_systemd_a_living_chronyd_is_all_there_is(read: Reader, tmp_path: Path) -> None:
    program = tmp_path / "chronyd"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    with subprocess.Popen([program, "60"]) as child:
        state = read("echo 'System has not been booted with systemd'; exit 1", booted=False)
        child.kill()
    assert (state.cause, state.verdict) == ("no-systemd", Verdict.OK)


def test_without_systemd_a_chronyd_that_may_be_hidden_is_not_said_to_be_absent(
    tmp_path: Path,
) -> None:
    import psutil  # noqa: F401  here, because nobody may not read it where it is installed

    probe = ServiceProbe(ServiceSettings(program="/nowhere/systemctl"), str(tmp_path / "none"))

    def cause() -> str:
        state = probe.read()
        return f"{state.cause} {state.verdict.word}"

    assert as_nobody(cause, hidepid=True) == "hidden unknown"


def test_a_healthy_answer_needs_no_psutil(tmp_path: Path) -> None:
    show = CORPUS / "d01-baseline" / "a-active.show"
    program = tmp_path / "systemctl"
    # 0 is "no main process known": this machine has no chronyd of that pid to look at.
    program.write_text(f"#!/bin/sh\nsed 's/^MainPID=.*/MainPID=0/' {show}\n", "utf-8")
    program.chmod(0o755)
    code = (
        "import sys\n"
        "from agent.core.settings import ServiceSettings\n"
        "from agent.probes.systemd import ServiceProbe\n"
        f"state = ServiceProbe(ServiceSettings(program={str(program)!r})).read()\n"
        "assert state.cause == 'active', state\n"
        "assert 'psutil' not in sys.modules and 'subprocess' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
