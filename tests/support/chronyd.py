"""Owns a real chronyd for tests: always ``-x``, so that it can never touch a clock."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Callable, Mapping, Optional, Sequence, Type

from agent.core import tracking
from agent.core.settings import ChronySettings
from agent.core.tracking import Tracking
from agent.spawn import Completed, run
from tests.support import needs
from tests.support.faketime_server import TimeServer
from tests.support.waiting import wait_for

#: The shortest polling there is, and a burst of questions at the start: states come in seconds.
QUICK = "iburst minpoll 0 maxpoll 0"
#: Seconds by which any state a test asks for has come; a busy machine takes its time.
PATIENCE = 40.0


class Chronyd:
    """A chronyd in ``directory``, which must be ours alone and have a short path.

    It listens only on ``socket`` there: no NTP port, no command port. ``environment`` is added to
    ours for it.
    """

    def __init__(
        self,
        directory: Path,
        *servers: TimeServer,
        extra: Sequence[str] = (),
        environment: Mapping[str, str] = {},
    ) -> None:
        self.directory = directory
        self.socket = directory / "chronyd.sock"
        self.program = needs.program("chronyc")
        self._daemon = needs.program("chronyd")
        self._config = directory / "chrony.conf"
        self._log = directory / "chronyd.log"
        lines = [f"server {server.host} port {server.port} {QUICK}" for server in servers]
        lines += [
            "port 0",
            "cmdport 0",
            f"bindcmdaddress {self.socket}",
            f"pidfile {directory / 'chronyd.pid'}",
            f"user {pwd.getpwuid(os.geteuid()).pw_name}",
            *extra,
        ]
        self._config.write_text("\n".join(lines) + "\n")
        self._environment = {**os.environ, **environment}
        self._process: Optional[subprocess.Popen[bytes]] = None

    @property
    def settings(self) -> ChronySettings:
        """How a probe asks this chronyd."""
        return ChronySettings(program=self.program, address=str(self.socket))

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What it has said."""
        return self._log.read_text(errors="replace")

    def start(self) -> None:
        """Start it, and wait until it takes questions."""
        as_user = [] if os.geteuid() == 0 else ["-U"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._daemon, "-x", "-d", *as_user, "-f", str(self._config)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(self._answers, timeout=PATIENCE, what="chronyd to answer")

    def stop(self) -> None:
        """End it, in whatever state it is."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            try:
                self._process.wait(5.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Stop it as a debugger would: it is there, and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def ask(self, *commands: str) -> Completed:
        """Run chronyc with ``commands`` against it."""
        argv = (self.program, "-h", str(self.socket), "-n", *commands)
        return run(argv, 5.0)

    def tracking(self) -> Tracking:
        """What it claims now."""
        claimed = tracking.parse_csv(self.ask("-c", "tracking").stdout)
        assert isinstance(claimed, Tracking), (claimed, self.log)
        return claimed

    def wait_until(self, state: Callable[[Tracking], object], what: str) -> Tracking:
        """Wait until what it claims satisfies ``state``."""

        def reached() -> Optional[Tracking]:
            claimed = self.tracking()
            return claimed if state(claimed) else None

        return wait_for(reached, timeout=PATIENCE, what=f"chronyd to be {what}", every=0.1)

    def wait_until_synchronised(self) -> Tracking:
        """Wait until it follows a server and knows the offset to within 10 ms."""
        return self.wait_until(lambda claimed: claimed.root_dispersion < 0.01, "synchronised")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"chronyd ended: {self.log}"
        return self.ask("-c", "tracking").status == 0

    def __enter__(self) -> Chronyd:
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()
