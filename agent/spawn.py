"""Owns running another program: argv list, deadline, C locale, own process group, bounded output.

``subprocess`` is not used: it costs 12 ms of start-up on the path of ``clock-agent check``, and its
timeout ends the child but not the grandchild that holds the pipe. Here the whole process group is
ended: SIGTERM first (chronyc leaves its socket file behind when killed outright), then SIGKILL.
"""

from __future__ import annotations

import errno
import os
import select
import time

from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.lean import signal

if TYPE_CHECKING:
    from typing import Dict, List, Mapping, Optional, Sequence, Set, Tuple

#: Where helper programs are looked for; a service's own PATH may lack the sbin directories.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Everything a helper program is told about its surroundings, unless the caller adds to it.
ENVIRONMENT: Mapping[str, str] = {"PATH": SEARCH_PATH, "LC_ALL": "C", "LANG": "C"}
#: More output than any report we ask for; what comes after is dropped and the program ended.
MAX_OUTPUT = 262_144
#: Seconds between SIGTERM and SIGKILL.
TERM_GRACE = 0.2
#: Why a program could not be started, when the reason lies with this host and not the program.
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
_CHUNK = 65_536


class Completed(NamedTuple):
    """How a program ended and what it said."""

    #: Exit status, or minus the signal number; None when it could not be started.
    status: Optional[int]
    stdout: str
    stderr: str
    #: Seconds of CLOCK_MONOTONIC it took.
    elapsed: float
    #: True when it had to be ended at its deadline.
    timed_out: bool
    #: True when it said more than MAX_OUTPUT on either stream.
    overflowed: bool
    #: The errno of a failed start (ENOENT, EACCES ...), else 0.
    errno: int = 0


#: Process groups under way, so that a stopping program leaves nobody behind.
_live: Set[int] = set()


def end_all() -> None:
    """End every program still running on behalf of other threads; for the way out.

    It takes up to TERM_GRACE when one of them does not want to go.
    """
    left = [group for group in tuple(_live) if _signal(group, signal.SIGTERM)]
    deadline = time.monotonic() + TERM_GRACE
    while left and time.monotonic() < deadline:
        time.sleep(0.002)  # the threads they belong to reap them meanwhile
        left = [group for group in left if _signal(group, 0)]
    for group in left:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    """Signal a process group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def find_program(name: str, search_path: str = SEARCH_PATH) -> str:
    """Return the path to run for ``name``: itself when it holds a slash, else the first match.

    An unknown name is returned as it is; starting it then fails with ENOENT, which is reported.
    """
    if "/" in name:
        return name
    for directory in search_path.split(":"):
        candidate = directory + "/" + name
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    return name


def run(
    argv: Sequence[str],
    timeout: float,
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str] = ENVIRONMENT,
) -> Completed:
    """Run ``argv`` to its end or its deadline, whichever comes first. Never raises OSError.

    ``timeout`` is in seconds. Returns within ``timeout`` + two TERM_GRACE, with the
    child reaped and no member of its process group left.
    """
    started = time.monotonic()
    child = _Child(argv, stdin, environment)
    if child.errno:
        return Completed(None, "", os.strerror(child.errno), 0.0, False, False, child.errno)
    timed_out = False
    _live.add(child.pid)
    try:
        child.talk(started + timeout)
        timed_out = not child.reap(started + timeout)
    finally:
        _live.discard(child.pid)
        child.end()
    return Completed(
        status=child.status,
        stdout=child.text(child.out),
        stderr=child.text(child.err),
        elapsed=time.monotonic() - started,
        timed_out=timed_out and not child.overflowed,
        overflowed=child.overflowed,
    )


class _Child:
    """One running program: its pipes, its process group and its end."""

    def __init__(self, argv: Sequence[str], stdin: bytes, environment: Mapping[str, str]) -> None:
        self.errno = 0
        self.status: Optional[int] = None
        self.overflowed = False
        self._stdin = stdin
        pipes: List[Tuple[int, int]] = []
        try:
            for _ in range(3):
                pipes.append(os.pipe())
            (in_read, self._in), (self.out, out_write), (self.err, err_write) = pipes
            self.pid = _start(argv, (in_read, out_write, err_write), environment)
        except (OSError, ValueError) as error:  # ValueError: a NUL byte in an argument
            self.errno = getattr(error, "errno", None) or errno.EINVAL
            for descriptor in (end for pipe in pipes for end in pipe):
                os.close(descriptor)
            return
        for descriptor in (in_read, out_write, err_write):
            os.close(descriptor)
        self._open = {self._in, self.out, self.err}
        self._buffers: Dict[int, List[bytes]] = {self.out: [], self.err: []}
        self._sizes: Dict[int, int] = {self.out: 0, self.err: 0}

    def talk(self, deadline: float) -> None:
        """Feed stdin and collect output until both outputs close, the deadline, or an overflow."""
        for descriptor in self._open:
            os.set_blocking(descriptor, False)
        poller = select.poll()
        poller.register(self.out, select.POLLIN)
        poller.register(self.err, select.POLLIN)
        if self._stdin:
            poller.register(self._in, select.POLLOUT)
        else:
            self._close(self._in)
        while not self.overflowed and self._open & {self.out, self.err}:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            for descriptor, _ in poller.poll(left * 1000 + 1):
                alive = self._write() if descriptor == self._in else self._read(descriptor)
                if not alive:
                    poller.unregister(descriptor)
                    self._close(descriptor)

    def reap(self, deadline: float) -> bool:
        """Wait for the child itself until ``deadline``; True when it has ended."""
        while not self._poll_status():
            if time.monotonic() >= deadline or self.overflowed:
                return False
            time.sleep(0.0002)
        return True

    def end(self) -> None:
        """End every member of the group that is left, close the pipes, reap the child."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not _signal(self.pid, number):
                break
            if self.reap_within(TERM_GRACE) and not _signal(self.pid, 0):
                break
        for descriptor in tuple(self._open):
            self._close(descriptor)

    def reap_within(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the child to end, whatever it printed; True when it has."""
        deadline = time.monotonic() + seconds
        while not self._poll_status():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        return True

    def text(self, descriptor: int) -> str:
        """What was printed on one stream; bytes that are not UTF-8 come out as escapes."""
        return b"".join(self._buffers[descriptor]).decode("utf-8", "backslashreplace")

    def _poll_status(self) -> bool:
        if self.status is None:
            try:
                pid, raw = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else reaped it: its status is lost
                self.status = 255
                return True
            if pid:
                self.status = -os.WTERMSIG(raw) if os.WIFSIGNALED(raw) else os.WEXITSTATUS(raw)
        return self.status is not None

    def _read(self, descriptor: int) -> bool:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        room = MAX_OUTPUT - self._sizes[descriptor]
        self._sizes[descriptor] += len(chunk)
        self._buffers[descriptor].append(chunk[:room])
        self.overflowed = self.overflowed or len(chunk) > room
        return bool(chunk)

    def _write(self) -> bool:
        try:
            written = os.write(self._in, self._stdin[:_CHUNK])
        except BlockingIOError:
            return True
        except OSError:  # the program does not read its input: its right
            return False
        self._stdin = self._stdin[written:]
        return bool(self._stdin)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


def _start(
    argv: Sequence[str], streams: Tuple[int, int, int], environment: Mapping[str, str]
) -> int:
    """Start ``argv`` on ``streams`` in a process group of its own; return its pid."""
    return os.posix_spawn(
        find_program(argv[0]),
        list(argv),
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)
        ],
        setpgroup=0,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
    )
