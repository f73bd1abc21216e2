"""Owns telling a program: argv without a shell, the alert as JSON on its standard input."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import Dict, Mapping, Optional

from agent import spawn
from agent.core import wording
from agent.core.messages import document
from agent.core.model import Alert, Delivery
from agent.core.settings import AlertSettings

#: How much of what the program prints is worth repeating.
_LONGEST_OUTPUT = 200
_LONGEST_VALUE = 2000
#: Failing to start for one of these does not get better by itself.
_PERMANENT = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP, errno.EINVAL)


class CommandSink:
    """Runs a program for every alert. It has succeeded when it exits with 0 within its time.

    It runs in a process group of its own, which is ended as a whole at the deadline. It sees PATH,
    LANG, LC_ALL and CLOCK_AGENT_*, and no open files but its three streams.
    """

    repeat_every: Optional[float] = None

    def __init__(self, settings: AlertSettings) -> None:
        self.name = settings.name
        self._argv = tuple(settings.options["argv"])

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """Run the program; see the class."""
        content = json.dumps(document(alert), ensure_ascii=False) + "\n"
        _close_on_exec()
        done = spawn.run(
            self._argv,
            max(timeout / 2, timeout - 2 * spawn.TERM_GRACE),  # ending it takes time, too
            stdin=content.encode("utf-8", "backslashreplace"),
            environment=_environment(alert),
        )
        return self._judged(done, timeout)

    def _judged(self, done: spawn.Completed, timeout: float) -> Delivery:
        program = wording.plain(self._argv[0])
        if done.status is None:
            permanent = done.errno in _PERMANENT
            what = f"{program} cannot be started: {os.strerror(done.errno)}"
            return Delivery(delivered=False, retryable=not permanent, what=what)
        if done.timed_out:
            what = f"{program} did not end within {timeout:g} s and was ended"
        elif done.overflowed:
            what = f"{program} printed more than {spawn.MAX_OUTPUT} bytes and was ended"
        elif done.status < 0:
            what = f"{program} was ended by signal {-done.status}"
        elif done.status > 0:
            what = f"{program} exited with {done.status}"
        else:
            return Delivery(delivered=True)
        printed = wording.plain(done.stderr.strip() or done.stdout, _LONGEST_OUTPUT)
        return Delivery(delivered=False, retryable=True, what=f"{what}: {printed}".rstrip(": "))


def _environment(alert: Alert) -> Mapping[str, str]:
    fields: Dict[str, str] = dict(spawn.ENVIRONMENT)
    for name in ("id", "key", "kind", "severity", "host", "condition", "summary", "cause"):
        fields[f"CLOCK_AGENT_{name.upper()}"] = wording.plain(getattr(alert, name), _LONGEST_VALUE)
    fields["CLOCK_AGENT_LASTED"] = f"{alert.lasted:.0f}"
    fields["CLOCK_AGENT_LOCAL_TIME"] = alert.local_time
    fields["CLOCK_AGENT_REFERENCE_TIME"] = alert.reference_time or ""
    return fields


def _close_on_exec() -> None:
    """Keep files that the daemon itself was started with out of its children's hands."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # the directory's own, closed by now
                os.set_inheritable(int(name), False)
