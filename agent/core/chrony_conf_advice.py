"""Owns judging a chrony.conf: what in it will lead to a wrong clock, and what to write instead.

What is no fault but would be better otherwise is a note: verdict ok, with a remedy.
"""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Optional, Tuple

from agent.core.chrony_conf import NO_PERMISSION, SOURCES, UNKNOWN_DIRECTIVE, Conf, Line
from agent.core.diagnosis import Diagnosis
from agent.core.model import Verdict

TOPIC = "chrony.conf"
#: Sources below which chronyd cannot tell which of them is right.
_FEW = 2
#: A directive we do not know may be newer than we are; a file we may not read may be fine.
_TROUBLE = {UNKNOWN_DIRECTIVE: Verdict.WARNING, NO_PERMISSION: Verdict.UNKNOWN}


class Check(NamedTuple):
    """One thing to look for: the lines that speak against a configuration, or None when fine."""

    cause: str
    verdict: Verdict
    #: The lines it rests on; an empty tuple means a line that is not there.
    fault: Callable[[Conf], Optional[Tuple[Line, ...]]]
    seen: str
    why: str
    remedy: Tuple[str, ...]


def judge(conf: Conf, unprivileged: bool) -> Iterator[Diagnosis]:
    """Every finding about ``conf``; ``unprivileged``: whoever asks chronyd will not be root."""
    for trouble in conf.troubles:
        yield Diagnosis(
            topic=TOPIC,
            cause=trouble.cause,
            verdict=_TROUBLE.get(trouble.cause, Verdict.CRITICAL),
            seen=f"{trouble.where}: {trouble.what}",
            why="chronyd may not start, or runs without what this file was to say.",
            remedy=(f"# mend {trouble.where}",),
            where=(trouble.where,),
        )
    if not conf.lines and any(t.cause != UNKNOWN_DIRECTIVE for t in conf.troubles):
        return  # what could not be read may say anything
    for check in _CHECKS if unprivileged else _CHECKS[:-1]:
        lines = check.fault(conf)
        if lines is not None:
            yield _found(conf, check, lines)
    if not conf.troubles:
        count = len(conf.all(*SOURCES))
        yield Diagnosis(TOPIC, "read", Verdict.OK, f"{conf.path}: {count} line(s) name a source")


def _found(conf: Conf, check: Check, lines: Tuple[Line, ...]) -> Diagnosis:
    where = tuple(line.where for line in lines) or (conf.path,)
    return Diagnosis(
        topic=TOPIC,
        cause=check.cause,
        verdict=check.verdict,
        seen=check.seen.format(where=where[0]),
        why=check.why,
        remedy=tuple(line.format(where=where[0], path=conf.path) for line in check.remedy),
        where=where,
    )


def _no_source(conf: Conf) -> Optional[Tuple[Line, ...]]:
    return None if conf.all(*SOURCES) else conf.all("sourcedir")


def _one_source(conf: Conf) -> Optional[Tuple[Line, ...]]:
    """A pool is several sources, unless it is told to be one."""
    lines = conf.all(*SOURCES)
    count = sum(_several(line) for line in lines)
    return lines if 0 < count < _FEW else None


def _several(line: Line) -> int:
    if line.name != "pool":
        return 1
    words = [word.lower() for word in line.words]
    at = words.index("maxsources") + 1 if "maxsources" in words else len(words)
    return int(words[at]) if at < len(words) and words[at].isdecimal() else 4


def _local(conf: Conf) -> Optional[Tuple[Line, ...]]:
    lines = tuple(
        line for line in conf.all("local") if "orphan" not in (word.lower() for word in line.words)
    )
    return lines or None


def _steps_any_time(conf: Conf) -> Optional[Tuple[Line, ...]]:
    last = conf.all("makestep")[-1:]
    return last if last and last[0].words[1:2] and last[0].words[1].startswith("-") else None


def _absent(name: str) -> Callable[[Conf], Optional[Tuple[Line, ...]]]:
    return lambda conf: None if conf.all(name) else ()


def _closed(conf: Conf) -> Optional[Tuple[Line, ...]]:
    last = conf.all("cmdport")[-1:]
    return last if last and last[0].words[:1] == ("0",) else None


_CHECKS: Tuple[Check, ...] = (
    Check(
        "no-source",
        Verdict.CRITICAL,
        _no_source,
        "there is no server, pool, peer or refclock: chronyd has nothing to follow",
        "The clock drifts freely, up to minutes a day, while chronyd runs and looks well.",
        ("# add to {path}: pool pool.ntp.org iburst (or your own servers)",),
    ),
    Check(
        "one-source",
        Verdict.WARNING,
        _one_source,
        "{where} is the only source",
        "When it is lost the clock drifts; when it is wrong nothing can tell. Four are enough to"
        " outvote one that lies.",
        ("# add more servers, or a pool, to {path}",),
    ),
    Check(
        "local-without-orphan",
        Verdict.WARNING,
        _local,
        "{where} lets chronyd call itself synchronised without any source",
        "With every server gone it still says Normal, stratum N, error 0: the loss stays hidden.",
        ("# remove `local` at {where}, or write `local stratum 10 orphan`",),
    ),
    Check(
        "steps-any-time",
        Verdict.WARNING,
        _steps_any_time,
        "{where} allows steps at any time",
        "A step under running workers makes minutes happen twice, or never.",
        ("# write `makestep 1 3` at {where}: steps only in the first three updates",),
    ),
    Check(
        "no-makestep",
        Verdict.WARNING,
        _absent("makestep"),
        "there is no makestep: a clock that is wrong at boot is only slewed",
        "At 83333 ppm a clock 22 minutes off takes more than four hours to come right.",
        ("# add to {path}: makestep 1 3",),
    ),
    Check(
        "no-rtcsync",
        Verdict.OK,
        _absent("rtcsync"),
        "there is no rtcsync: the hardware clock is left to drift, and the kernel is not told",
        "After a reboot the clock starts from the hardware clock.",
        ("# add to {path}: rtcsync",),
    ),
    Check(
        "hopeful-maxclockerror",
        Verdict.OK,
        _absent("maxclockerror"),
        "maxclockerror is at its default of 1 ppm, which few oscillators keep",
        "chronyd's error bound is too small once its sources are lost; this agent adds its own"
        " max_drift_ppm (50), other readers of chronyd do not.",
        ("# add to {path}: maxclockerror 50",),
    ),
    # The last one matters only to those who are not root: see judge().
    Check(
        "no-access",
        Verdict.WARNING,
        _closed,
        "{where} closes chronyd's command port: only root can ask it",
        "clock-agent runs as a user of its own and will be told nothing.",
        ("# remove `cmdport 0` at {where}: the port answers only this host, and only to look",),
    ),
)
