"""Owns the tests of agent.probes.systemd: a systemctl of our own says what no real one would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Callable, NamedTuple

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
    units = tmp_path / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    (units / "ntpd.service").symlink_to("/dev/null")
    ServiceProbe(ServiceSettings(program=str(program)), str(tmp_path), str(tmp_path)).read()
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


ENABLED = CORPUS / "d01-baseline" / "a-active.show"  # Debian's: chrony.service
WANTS = "etc/systemd/system/multi-user.target.wants"


class Host(NamedTuple):
    """A host whose files are below ``root``, and whose systemd calls chrony.service enabled."""

    root: Path
    program: Path

    def link(self, target: str, name: str = "chrony.service") -> None:
        """Make a boot link."""
        (self.root / WANTS / name).symlink_to(target)

    def read(self) -> ServiceState:
        settings = ServiceSettings(program=str(self.program))
        return ServiceProbe(settings, str(self.root), str(self.root)).read()


@pytest.fixture
def host(private_dir: Path) -> Host:
    program = private_dir / "systemctl"
    # 0 is "no main process known": this machine has no chronyd of that pid to look at.
    shown = re.sub("(?m)^MainPID=.*", "MainPID=0", ENABLED.read_text("utf-8"))
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{shown}\nEND\n", "utf-8")
    program.chmod(0o755)
    (private_dir / "empty").touch()
    (private_dir / WANTS).mkdir(parents=True)
    units = private_dir / "lib/systemd/system"
    units.mkdir(parents=True)
    (units / "chrony.service").write_text("[Install]\nWantedBy=multi-user.target\n", "utf-8")
    return Host(private_dir, program)


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("/lib/systemd/system/chrony.service", "active"),
        ("../../../../lib/systemd/system/chrony.service", "active"),
        ("/nowhere/chrony.service", "active"),  # systemd takes its name and finds the unit by it
        ("/dev/null", "no-boot-link"),
        ("/empty", "no-boot-link"),
    ],
)
def test_a_boot_link_counts_if_systemd_follows_it(host: Host, target: str, cause: str) -> None:
    host.link(target)
    assert host.read().cause == cause


def test_a_boot_link_by_a_living_other_name_counts(host: Host) -> None:
    host.link("/lib/systemd/system/chrony.service", "chronyd.service")
    assert host.read().cause == "no-boot-link"
    (host.root / "etc/systemd/system/chronyd.service").symlink_to(
        "/lib/systemd/system/chrony.service"
    )
    assert host.read().cause == "active"


def test_enabled_by_the_link_of_an_alias_alone_is_a_warning_with_a_remedy(host: Host) -> None:
    """systemctl enable, disable and an image script may leave the one link and not the other."""
    (host.root / "etc/systemd/system/chronyd.service").symlink_to(
        "/lib/systemd/system/chrony.service"
    )
    state = host.read()
    assert (state.cause, state.verdict) == ("no-boot-link", Verdict.WARNING)
    assert (state.unit_file_state, state.advice) == (
        "disabled",
        ("systemctl enable chrony.service",),
    )


def test_what_enabling_cannot_replace_is_set_aside_first(host: Host) -> None:
    (host.root / WANTS / "chrony.service").touch()
    there = f"/{WANTS}/chrony.service"
    assert host.read().advice == (
        f"mv {there} {there}.set-aside",
        "systemctl enable chrony.service",
    )


def test_files_that_are_not_those_systemd_read_prove_nothing(host: Host) -> None:
    """In a container that may ask its host's systemd, the unit files are the container's."""
    (host.root / "lib/systemd/system/chrony.service").unlink()
    assert host.read().cause == "active"


@pytest.mark.parametrize("directory", ["etc/systemd/system", WANTS])
def test_files_that_this_user_may_not_see_prove_nothing(host: Host, directory: str) -> None:
    host.root.chmod(0o711)
    assert host.read().cause == "no-boot-link"  # by who may see them; all modules are loaded now
    (host.root / directory).chmod(0o700)
    assert as_nobody(lambda: host.read().cause) == "active"


def test_a_healthy_answer_needs_no_psutil_and_no_second_look(host: Host) -> None:
    host.link("/lib/systemd/system/chrony.service")
    code = (
        "import sys\n"
        "from agent.core.settings import ServiceSettings\n"
        "from agent.probes.systemd import ServiceProbe\n"
        f"settings = ServiceSettings(program={str(host.program)!r})\n"
        f"state = ServiceProbe(settings, {str(host.root)!r}, {str(host.root)!r}).read()\n"
        "assert state.cause == 'active', state\n"
        "assert not {'psutil', 'subprocess', 'agent.core.unitfiles'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
