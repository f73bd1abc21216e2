"""Owns fake programs for tests: a chronyc and a systemctl that say what the test wrote down."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from tests.support import needs

#: One word a call: an offset in seconds (positive = the local clock is ahead), or ``miss``.
_CHRONYC = r"""#!/bin/sh
echo "$$ $*" >>'{directory}/calls'
call=$(wc -l <'{directory}/calls')
word=$(sed -n "${{call}}p" '{directory}/script')
[ -n "$word" ] || word=$(tail -n 1 '{directory}/script')
if [ "$word" = miss ]; then echo '506 Cannot talk to daemon'; exit 1; fi
date +%s.%N | awk -v offset="$word" '{{
    printf "7F000001,127.0.0.1,2,%.9f,%.9f,0.000000001,0.000000001,0.000,0.000,0.001,", \
        $1 - offset, -offset
    print "0.000010000,0.000010000,64.0,Normal"
    print "^,*,127.0.0.1,1,6,377,1,0.000000001,0.000000001,0.000010000"
}}'
"""

_SYSTEMCTL = r"""#!/bin/sh
cat <<'END'
Id=chronyd.service
Names=chronyd.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=static
FragmentPath=/usr/lib/systemd/system/chronyd.service
MainPID={pid}
NRestarts=0
Result=success
ConditionResult=yes
ConditionTimestamp=Mon 2026-11-30 00:00:00 UTC
END
"""


def executable(path: Path, text: str) -> str:
    """Write an executable script and return its path."""
    # written under another name first: a script that is being written cannot be run (ETXTBSY)
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.chmod(0o755)
    os.rename(draft, path)
    return str(path)


class Chronyc:
    """A chronyc that follows a script; its last word holds for all calls after."""

    def __init__(self, directory: Path, script: Sequence[object] = (0.0,)) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.path = executable(directory / "chronyc", _CHRONYC.format(directory=directory))
        self.say(*script)

    def say(self, *script: object) -> None:
        """Follow ``script`` from the next call on."""
        already = self.calls
        lines = ["0"] * already + [str(word) for word in script]
        draft = self._directory / "script.new"
        draft.write_text("\n".join(lines) + "\n")
        os.rename(draft, self._directory / "script")

    @property
    def calls(self) -> int:
        """How often it has been called."""
        try:
            return len((self._directory / "calls").read_text().splitlines())
        except FileNotFoundError:
            return 0


def systemctl(directory: Path, pid: int) -> str:
    """A systemctl by which chronyd.service runs as ``pid``, and is pulled in; returns its path."""
    return executable(directory / "systemctl", _SYSTEMCTL.format(pid=pid))


@contextmanager
def process_named(name: str, directory: Path) -> Iterator[int]:
    """A process that does nothing, under the name of another program; its pid."""
    program = directory / name
    program.symlink_to(needs.program("sleep"))
    with subprocess.Popen([program, "60"]) as sleeper:
        try:
            yield sleeper.pid
        finally:
            sleeper.kill()
