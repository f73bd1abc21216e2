"""Owns measuring: whole programs one after the other in turns, and a running process from outside.

Figures of one machine at one moment say little; ratios of programs that took turns say more.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Sequence

_ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin"), "LC_ALL": "C"}
_SILENT = [
    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
]


class Taken(NamedTuple):
    """How long one program took, in seconds, over all rounds, and the exit status it had."""

    shortest: float
    median: float
    status: int
    #: Bytes of memory it had at most (resident, shared libraries included).
    peak: int


def in_turns(programs: Mapping[str, Sequence[str]], rounds: int) -> Dict[str, Taken]:
    """Run each program ``rounds`` times, taking turns, so that a busy moment is shared by all."""
    times: Dict[str, List[float]] = {name: [] for name in programs}
    statuses: Dict[str, int] = {}
    peaks: Dict[str, int] = {}
    for _ in range(rounds):
        for name, argv in programs.items():
            started = time.perf_counter()
            pid = os.posix_spawn(argv[0], list(argv), _ENVIRONMENT, file_actions=_SILENT)
            _, status, used = os.wait4(pid, 0)
            times[name].append(time.perf_counter() - started)
            statuses[name] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -status
            peaks[name] = max(peaks.get(name, 0), used.ru_maxrss * 1024)
    return {
        name: Taken(min(all_times), statistics.median(all_times), statuses[name], peaks[name])
        for name, all_times in times.items()
    }


def cpu_seconds(pid: int, *, children: bool = False) -> float:
    """Processor time of a process so far, with or without that of the programs it has run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    counted = fields[11:15] if children else fields[11:13]  # utime, stime, cutime, cstime: proc(5)
    return sum(map(int, counted)) / os.sysconf("SC_CLK_TCK")


def pss_bytes(pid: int, *, anonymous: bool = False) -> int:
    """Memory of a process, with its share of what it shares with others (PSS).

    ``anonymous``: only what it has allocated. The rest, programs and libraries, is less when others
    use them too, and so comes and goes without its doing.
    """
    label = "Pss_Anon:" if anonymous else "Pss:"
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(label):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no PSS of process {pid}")
