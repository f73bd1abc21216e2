"""Owns a booted systemd in a container: started on a throw-away layer over the cached root.

The container has its own network and cannot set the clock (nspawn withholds CAP_SYS_TIME). The
agent runs inside from this project's own files, read-only, with the container's own Python.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

import psutil

from tests.support import needs
from tests.support.debian_root import debian_root
from tests.support.waiting import wait_for

PROJECT = Path(__file__).resolve().parents[2]
#: Where the packages live that the agent needs at run time.
VENDOR = Path(psutil.__file__).resolve().parents[1]
FROM_PROJECT = {
    "/usr/lib/clock-agent/agent": PROJECT / "agent",
    "/usr/lib/clock-agent/vendor": VENDOR,
}
#: nspawn's own filter refuses even to read the kernel's clock state; without the capability that it
#: withholds as well, none of these can change anything.
CLOCK_CALLS = "adjtimex clock_adjtime clock_settime settimeofday"
#: nspawn hides the kernel's boot id behind one of its own, but not from units with
#: ProtectKernelTunables=: without this, there would be two in one boot.
ONE_BOOT_ID = "umount /proc/sys/kernel/random/boot_id"
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C")


class Done:
    """How a command inside ended, and what it said."""

    def __init__(self, status: int, stdout: str, stderr: str) -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    @property
    def json(self) -> Dict[str, Any]:
        """The document it printed."""
        assert self.stdout.startswith("{"), (self.status, self.stdout, self.stderr)
        document: Dict[str, Any] = json.loads(self.stdout)
        return document


class Machine:
    """One booted container."""

    def __init__(
        self, log: Path, root: Optional[Path] = None, binds: Mapping[str, Path] = FROM_PROJECT
    ) -> None:
        """``binds``: what is seen at which place inside, read-only."""
        command = [
            needs.program("systemd-nspawn"),
            "--quiet",
            "--boot",
            f"--directory={root or debian_root()}",
            "--volatile=overlay",
            "--private-network",
            "--register=no",
            "--keep-unit",
            f"--machine=clock-agent-{uuid.uuid4().hex[:8]}",
            "--console=pipe",
            f"--system-call-filter={CLOCK_CALLS}",
            *(f"--bind-ro={outside}:{inside}" for inside, outside in binds.items()),
        ]
        with open(log, "wb") as output:
            self._nspawn = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        #: The pid of its systemd, as seen from outside.
        self.init = 0
        try:
            self.init = wait_for(self._find_init, timeout=20.0, what="systemd in the container")
            wait_for(self._booted, timeout=60.0, what="the boot", every=0.1)
            self.shell(ONE_BOOT_ID)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the container and everything in it."""
        if self.init:
            os.kill(self.init, signal.SIGKILL)
        else:
            self._nspawn.kill()
        self._nspawn.wait(timeout=20.0)

    def run(self, *command: str, timeout: float = 30.0) -> Done:
        """Run a command inside as root; it may fail."""
        enter = [
            "nsenter",
            "-t",
            str(self.init),
            *["-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w"],
        ]
        done = subprocess.run(
            [*enter, *ENVIRONMENT, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def shell(self, script: str, timeout: float = 30.0) -> Done:
        """Run a shell script inside, as an administrator would type it; it may fail."""
        return self.run("sh", "-c", script, timeout=timeout)

    def must(self, script: str, timeout: float = 30.0) -> str:
        """Run a shell script inside that has to succeed; what it printed."""
        done = self.shell("set -e\n" + script, timeout)
        assert done.status == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def agent(self, *arguments: str) -> Done:
        """Run ``clock-agent`` inside."""
        done = self.run("clock-agent", *arguments)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def _find_init(self) -> int:
        if self._nspawn.poll() is not None:
            raise AssertionError("systemd-nspawn ended: see its log")
        children: List[psutil.Process] = psutil.Process(self._nspawn.pid).children()
        return next((child.pid for child in children if child.name() == "systemd"), 0)

    def _booted(self) -> bool:
        state = self.run("systemctl", "is-system-running").stdout.strip()
        return state in ("running", "degraded")
