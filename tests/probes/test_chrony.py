"""Owns the tests of agent.probes.chrony with a chronyc and kernel tables that the test wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Optional

import pytest

from agent.core.chrony_causes import CAUSES
from agent.core.model import Miss, Observation, Policy, Reading
from agent.core.settings import ChronySettings
from agent.probes.chrony import ChronyProbe, Surroundings
from tests.support.captures import captures
from tests.support.fakes import executable
from tests.support.waiting import wait_for

TRACKING = (
    "C0A87B01,192.168.123.1,2,{now:.9f},0.000002887,0.000002499,0.000002897,"
    "5.000,0.002,0.063,0.000207374,0.000031578,64.5,Normal"
)
SOURCES = "^,*,192.168.123.1,1,6,377,18,0.000015250,0.000017749,0.000123507"
SOCKET = "/run/chrony/chronyd.sock"
UNIX_HEAD = "Num       RefCount Protocol Flags    Type St Inode Path\n"
UNIX_ROW = "00000000f0d9e04d: 00000002 00000000 00000000 0002 03 {inode:>5} {path}\n"
UDP_ROW = (
    "   26: 0100007F:0143 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 0 0\n"
)
CANNOT = "echo '506 Cannot talk to daemon'; exit 1"
NO_WAY = "echo 'Could not open connection to daemon' >&2; exit 1"


class Stage:
    """One fake chronyc among fake kernel tables; no chronyd is anywhere to be found."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.program = str(directory / "chronyc")
        self.unix = directory / "unix"
        self.udp = directory / "udp"
        self.unix.write_text(UNIX_HEAD + UNIX_ROW.format(inode=7, path="/run/other.sock"))
        self.udp.write_text("  sl  local_address rem_address   st\n")
        self.daemon = "no-such-daemon-5d0f"
        self.proc = "/proc"

    def chronyc(self, body: str) -> None:
        """Let chronyc be the shell script ``body``; each call's arguments go into ``calls``."""
        log = f'printf "%s|" "$@" >>{self.directory}/calls; echo >>{self.directory}/calls'
        executable(Path(self.program), f"#!/bin/sh\n{log}\n{body}\n")

    def says(self, *lines: str, status: int = 0) -> None:
        """Let chronyc print ``lines``, with the present time in a tracking report."""
        text = "\n".join(lines).replace("{now:.9f}", f"{time.time():.9f}")
        (self.directory / "says").write_text(text + "\n" if text else "")
        self.chronyc(f"cat {self.directory}/says; exit {status}")

    def calls(self) -> list[list[str]]:
        """The arguments of each call."""
        lines = (self.directory / "calls").read_text().splitlines()
        return [line.split("|")[:-1] for line in lines]

    def probe(self, address: Optional[str] = None, max_age: Optional[float] = None) -> ChronyProbe:
        settings = ChronySettings(program=self.program, address=address, max_age=max_age)
        around = Surroundings(
            unix_table=str(self.unix),
            udp_tables=(str(self.udp), str(self.directory / "no-ipv6-table")),
            sockets=(SOCKET,),
            daemon=self.daemon,
            proc=self.proc,
        )
        return ChronyProbe(settings, Policy(), around)

    def read(self, address: Optional[str] = None) -> Observation:
        return self.probe(address).read()

    def miss(self, address: Optional[str] = None) -> Miss:
        seen = self.read(address)
        assert isinstance(seen, Miss), seen
        assert seen.source == "chronyd"
        assert seen.cause in CAUSES
        assert seen.what.isprintable()
        assert len(seen.what) < 400
        assert seen.advice
        return seen


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# --- what is asked --------------------------------------------------------------------------------


def test_one_process_is_asked_for_both_reports_with_a_waiting_time_and_no_names(
    stage: Stage,
) -> None:
    stage.says(TRACKING, SOURCES)
    seen = stage.read()
    assert isinstance(seen, Reading)
    assert seen.offset == pytest.approx(-0.000002887)
    assert stage.calls() == [["-c", "-n", "-m", "timeout 400", "retries 0", "tracking", "sources"]]


def test_a_configured_address_is_asked_and_no_other(stage: Stage) -> None:
    stage.says(TRACKING, SOURCES)
    assert isinstance(stage.read("/run/x/chronyd.sock"), Reading)
    assert stage.calls()[0][:2] == ["-h", "/run/x/chronyd.sock"]


def test_the_reading_is_dated_before_the_question(stage: Stage) -> None:
    stage.says(TRACKING, SOURCES)
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    seen = stage.read()
    assert isinstance(seen, Reading)
    assert before <= seen.taken_at < before + 0.1


def test_a_chronyd_that_forbids_the_question_for_sources_is_read_without_them(
    stage: Stage,
) -> None:
    stage.says(TRACKING, "501 Not authorised", status=1)
    assert isinstance(stage.read(), Reading)


def test_a_measurement_that_does_not_move_is_noticed_without_the_wall_clock(stage: Stage) -> None:
    # the reported correction grows with the time, so that the age seems to stay nothing
    report = TRACKING.replace("{now:.9f},0.000002887", "%.9f,%.9f")
    stage.chronyc(
        f'date +%s.%N | awk \'{{ printf "{report}\\n", {int(time.time())},'
        f" {int(time.time())} - $1 }}'; echo '{SOURCES}'"
    )
    asked = stage.probe(max_age=0.5)
    assert isinstance(asked.read(), Reading)

    def stale() -> Optional[Miss]:
        seen = asked.read()
        return seen if isinstance(seen, Miss) else None

    assert wait_for(stale, timeout=10.0, what="a stale measurement").cause == "stale"


# --- an old chronyc -------------------------------------------------------------------------------


def old_chronyc(stage: Stage, tracking: str, sources: str) -> None:
    (stage.directory / "tracking").write_text(tracking)
    (stage.directory / "sources").write_text(sources)
    stage.chronyc(
        'case "$1" in -c) echo "Usage : chronyc [-h <hostname>] [command]" >&2; exit 1;; esac\n'
        f'for last; do :; done; cat "{stage.directory}/$last"'
    )


def captured(file: str) -> str:
    return next(capture.text for capture in captures() if capture.file == file)


def test_a_chronyc_without_csv_is_asked_for_text(stage: Stage) -> None:
    stamp = time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime())
    tracking = captured("2.4.1/01-synced-normal.n.txt").splitlines()
    tracking[2] = f"Ref time (UTC)  : {stamp}"
    old_chronyc(stage, "\n".join(tracking) + "\n", captured("2.4.1/01-synced-normal.sources.txt"))
    seen = stage.read()
    assert isinstance(seen, Reading), seen
    assert [call[-1] for call in stage.calls()] == ["sources", "tracking", "sources"]
    assert stage.calls()[1] == ["-n", "tracking"]


def test_an_old_chronyc_tells_lost_sources_too(stage: Stage) -> None:
    case = "2.4.1/20-lost-source@t1500"
    old_chronyc(stage, captured(f"{case}.txt"), captured(f"{case}.sources.txt"))
    assert stage.miss().cause == "sources-lost"


def test_an_old_chronyc_that_cannot_talk_is_explained_as_well(stage: Stage) -> None:
    stage.chronyc(f'case "$1" in -c) echo Usage:; exit 1;; esac; {CANNOT}')
    assert stage.miss().cause == "not-running"


def test_an_old_chronyc_that_waits_for_ever_is_cut_off_in_time(stage: Stage) -> None:
    stage.unix.write_text(UNIX_HEAD + UNIX_ROW.format(inode=34948, path=SOCKET))
    stage.chronyc('case "$1" in -c) echo Usage:; exit 1;; esac; exec sleep 600')
    started = time.monotonic()
    assert stage.miss().cause == "hung"
    assert time.monotonic() - started < stage.probe().timeout + 0.5


# --- no answer: dead, hung or closed --------------------------------------------------------------


def test_an_immediate_refusal_with_nobody_there_is_not_running(stage: Stage) -> None:
    stage.chronyc(CANNOT)
    seen = stage.miss()
    assert seen.cause == "not-running"
    assert SOCKET in seen.what
    assert any("WARNING" in line for line in seen.advice if "systemctl start" in line)


@pytest.mark.parametrize("address", [None, "/run/other/chronyd.sock"])
def test_nobody_is_said_to_be_absent_where_nothing_can_be_seen(
    stage: Stage, address: Optional[str]
) -> None:
    stage.chronyc(CANNOT)
    stage.unix.unlink()
    stage.udp.unlink()
    seen = stage.miss(address)
    assert (seen.cause, "hidden" in seen.what) == ("no-access", True)


def test_a_chronyd_without_command_sockets_may_be_hidden(stage: Stage) -> None:
    stage.proc = str(stage.directory / "no-proc")
    stage.chronyc(CANNOT)
    assert stage.miss().cause == "no-access"
    # on a path of its own it would show in the kernel's table, whoever runs it
    assert stage.miss("/run/other/chronyd.sock").cause == "not-running"


def test_a_chronyd_on_its_default_socket_that_is_closed_to_us_is_no_access(stage: Stage) -> None:
    stage.unix.write_text(UNIX_HEAD + UNIX_ROW.format(inode=34948, path=SOCKET))
    stage.chronyc(CANNOT)
    seen = stage.miss()
    assert seen.cause == "no-access"
    assert any("cmdport" in line for line in seen.advice)


def test_the_row_of_a_socket_is_found_whatever_its_inode_is_padded_to(stage: Stage) -> None:
    for inode in (7, 123456789):
        stage.unix.write_text(UNIX_HEAD + UNIX_ROW.format(inode=inode, path=SOCKET))
        stage.chronyc(CANNOT)
        assert stage.miss().cause == "no-access"


def test_a_command_port_that_is_taken_and_silent_is_no_access(stage: Stage) -> None:
    stage.udp.write_text("  sl  local_address rem_address   st\n" + UDP_ROW)
    stage.chronyc(CANNOT)
    assert stage.miss().cause == "no-access"


def test_a_running_chronyd_without_command_sockets_is_no_access(stage: Stage) -> None:
    stage.daemon = "chronyd-1f7c"
    program = stage.directory / stage.daemon
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    stage.chronyc(NO_WAY)
    with subprocess.Popen([program, "60"]) as running:
        seen = stage.miss()
        # one that is on another path has nothing to do with the address that is configured
        elsewhere = stage.miss("/run/other/chronyd.sock")
        running.kill()
    assert seen.cause == "no-access"
    assert str(running.pid) in seen.what
    assert elsewhere.cause == "not-running"


def test_a_wait_in_vain_with_a_chronyd_there_is_hung(stage: Stage) -> None:
    stage.udp.write_text("  sl  local_address rem_address   st\n" + UDP_ROW)
    stage.chronyc(f"sleep 0.4; {CANNOT}")
    seen = stage.miss()
    assert seen.cause == "hung"
    assert "not running" not in seen.what


def test_a_socket_we_may_use_that_takes_no_more_questions_is_hung(stage: Stage) -> None:
    socket = stage.directory / "chronyd.sock"
    socket.touch()
    stage.unix.write_text(UNIX_HEAD + UNIX_ROW.format(inode=34948, path=socket))
    stage.chronyc(CANNOT)
    assert stage.miss(str(socket)).cause == "hung"


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (f"sleep 0.4; {CANNOT}", "hung"),
        (CANNOT, "not-running"),
        (NO_WAY, "no-access"),
    ],
)
def test_a_chronyd_on_another_host_is_judged_by_its_answers_alone(
    stage: Stage, body: str, cause: str
) -> None:
    stage.udp.write_text("  sl  local_address rem_address   st\n" + UDP_ROW)
    stage.chronyc(body)
    seen = stage.miss("ntp.example")
    assert seen.cause == cause
    assert "ntp.example" in seen.what


def test_a_refused_question_is_no_access(stage: Stage) -> None:
    stage.says("501 Not authorised", status=1)
    assert stage.miss().cause == "no-access"


# --- a chronyc that is not one --------------------------------------------------------------------


def test_a_missing_chronyc_says_where_it_was_looked_for(stage: Stage) -> None:
    stage.program = "no-such-chronyc"
    seen = stage.miss()
    assert seen.cause == "program-missing"
    assert "/usr/bin" in seen.what


@pytest.mark.parametrize("kind", ["absent", "directory", "dangling", "not-executable"])
def test_a_chronyc_that_cannot_be_run_is_missing_and_its_path_is_said(
    stage: Stage, kind: str
) -> None:
    path = Path(stage.program)
    if kind == "directory":
        path.mkdir()
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "not-executable":
        path.write_text("#!/bin/sh\n")
    seen = stage.miss()
    assert seen.cause == "program-missing"
    assert path.name in seen.what


@pytest.mark.parametrize("status", [126, 127])
def test_a_wrapper_that_does_not_find_chronyc_is_missing_it_too(stage: Stage, status: int) -> None:
    stage.chronyc(f"echo 'sh: chronyc: no' >&2; exit {status}")
    seen = stage.miss()
    assert seen.cause == "program-missing"
    assert str(status) in seen.what


@pytest.mark.parametrize(
    "body",
    [
        "exit 0",
        "exit 1",
        "echo hello",
        "kill -SEGV $$",
        "head -c 4096 /dev/urandom",
        "head -c 4096 /dev/zero",
        "head -c 1048576 /dev/zero | tr '\\0' x",
        "yes C0A87B01,192.168.123.1,2",
        "echo '517 Protocol version mismatch'; exit 1",
        "printf '\\033]0;owned\\007'",
        "echo 'Unrecognized command' >&2; exit 1",
        "echo 'nan,nan,nan'; exit 3",
    ],
)
def test_rubbish_is_a_miss_that_quotes_it_short_and_escaped(stage: Stage, body: str) -> None:
    stage.chronyc(body)
    seen = stage.miss()
    assert seen.cause == "unreadable"


def test_rubbish_after_a_good_first_line_is_not_taken_for_sources(stage: Stage) -> None:
    stage.says(TRACKING, "hello")
    assert stage.miss().cause == "unreadable"


def test_an_error_line_is_quoted(stage: Stage) -> None:
    stage.says("517 Protocol version mismatch", status=1)
    assert "517 Protocol version mismatch" in stage.miss().what


@pytest.mark.parametrize(
    "body", ["trap '' TERM; while :; do sleep 1; done", "exec sleep 600", "while :; do :; done"]
)
def test_a_chronyc_that_does_not_end_is_ended_within_the_time_promised(
    stage: Stage, body: str
) -> None:
    stage.unix.write_text(UNIX_HEAD + UNIX_ROW.format(inode=34948, path=SOCKET))
    stage.chronyc(f"echo $$ >{stage.directory}/pid; {body}")
    started = time.monotonic()
    assert stage.miss().cause == "hung"
    assert time.monotonic() - started < stage.probe().timeout + 0.5
    with pytest.raises(ProcessLookupError):
        os.kill(int((stage.directory / "pid").read_text()), 0)


def test_every_captured_error_has_its_cause(stage: Stage) -> None:
    causes = {
        "r01": "not-running",
        "r02": "not-running",
        "r05": "unreadable",
        "r06": "unreadable",
        "r22": "no-access",
        "r29": "not-running",
    }
    tried = 0
    for capture in captures():
        cause = causes.get(capture.case[:3])
        if cause is None or not capture.is_csv:
            continue
        stage.chronyc(
            f"cat <<'END'\n{capture.text}END\ncat >&2 <<'END'\n{capture.stderr}\nEND\n"
            f"exit {capture.status}"
        )
        assert stage.miss().cause == cause, capture.file
        tried += 1
    assert tried >= 15
