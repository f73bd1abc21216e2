"""Owns judging a chrony.conf: what in it will lead to a wrong clock, and what to write instead.

What is no fault but would be better otherwise is a note: verdict ok, with a remedy.
"""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Optional, Sequence, Tuple

from agent.core.chrony_conf import NO_PERMISSION, SOURCES, UNKNOWN_DIRECTIVE, Conf, Line, Trouble
from agent.core.diagnosis import Diagnosis, ordered
from agent.core.model import Verdict
from agent.core.wording import shell_word

TOPIC = "chrony.conf"
#: Sources below which chronyd cannot tell which of them is right.
_FEW = 2
#: A directive we do not know may be newer than we are; a file we may not read may be fine.
_TROUBLE = {UNKNOWN_DIRECTIVE: Verdict.WARNING, NO_PERMISSION: Verdict.UNKNOWN}
_SOON = "# chronyd has to be restarted for it: see the last of these findings"
_LATER = "# chronyd reads it when it starts next; until then nothing changes"


class Check(NamedTuple):
    """One thing to look for: the lines that speak against a configuration, or None when fine."""

    cause: str
    verdict: Verdict
    #: The lines it rests on; an empty tuple means a line that is not there.
    fault: Callable[[Conf], Optional[Tuple[Line, ...]]]
    seen: str
    why: str
    #: A command that puts it right: ``{conf}`` is the main file, ``{file}`` and ``{number}`` are
    #: where the first of the lines is.
    remedy: str
    #: What a person may want to know before running it.
    choice: str = ""


def judge(
    conf: Conf,
    unprivileged: bool,
    outside: Callable[[str], str] = shell_word,
    restart: Tuple[str, ...] = (),
) -> Iterator[Diagnosis]:
    """Every finding about ``conf``; ``unprivileged``: whoever asks chronyd will not be root.

    ``outside`` writes a path for a shell; ``restart`` makes a running chronyd read it again.
    """
    found = [_trouble(trouble, outside) for trouble in conf.troubles]
    # What could not be read may say anything.
    if conf.lines or all(t.cause == UNKNOWN_DIRECTIVE for t in conf.troubles):
        for check in _CHECKS if unprivileged else _CHECKS[:-1]:
            lines = check.fault(conf)
            if lines is not None:
                found.append(_found(conf, check, lines, outside))
    yield from _with_restart(ordered(found), restart) if restart else found
    if not conf.troubles:
        count = len(conf.all(*SOURCES))
        yield Diagnosis(TOPIC, "read", Verdict.OK, f"{conf.path}: {count} line(s) name a source")


def _trouble(trouble: Trouble, outside: Callable[[str], str]) -> Diagnosis:
    closed = trouble.cause == NO_PERMISSION
    return Diagnosis(
        topic=TOPIC,
        cause=trouble.cause,
        verdict=_TROUBLE.get(trouble.cause, Verdict.CRITICAL),
        seen=f"{trouble.where}: {trouble.what}",
        why="What it says is not known."
        if closed
        else "chronyd may not start, or runs without what this file was to say.",
        remedy=("# run doctor as root" if closed else f"# mend {outside(trouble.where)}",),
        where=(trouble.where,),
    )


def _found(
    conf: Conf, check: Check, lines: Tuple[Line, ...], outside: Callable[[str], str]
) -> Diagnosis:
    where = tuple(line.where for line in lines) or (conf.path,)
    file, number = (lines[0].path, lines[0].number) if lines else (conf.path, 0)
    command = check.remedy.format(conf=outside(conf.path), file=outside(file), number=number)
    return Diagnosis(
        topic=TOPIC,
        cause=check.cause,
        verdict=check.verdict,
        seen=check.seen.format(where=where[0]),
        why=check.why,
        remedy=(command + f"  # {check.choice}" * bool(check.choice),),
        where=where,
    )


def _with_restart(found: Sequence[Diagnosis], restart: Tuple[str, ...]) -> Iterator[Diagnosis]:
    """chronyd reads its files when it starts: the last fault ends with a restart, one for all.

    systemd refuses a unit that is restarted five times in ten seconds.
    """
    last = sum(each.verdict >= Verdict.WARNING for each in found) - 1
    for place, each in enumerate(found):
        if each.verdict is Verdict.UNKNOWN:
            yield each
        elif place == last:
            yield each._replace(remedy=each.remedy + restart)
        else:
            after = _SOON if place < last else _LATER
            yield each._replace(remedy=(*each.remedy, after))


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
        "printf '\\npool pool.ntp.org iburst\\n' >>{conf}",
        "or servers of your own",
    ),
    Check(
        "one-source",
        Verdict.WARNING,
        _one_source,
        "{where} is the only source",
        "When it is lost the clock drifts; when it is wrong nothing can tell. Four are enough to"
        " outvote one that lies.",
        "printf '\\npool pool.ntp.org iburst\\n' >>{conf}",
        "or more servers of your own",
    ),
    Check(
        "local-without-orphan",
        Verdict.WARNING,
        _local,
        "{where} lets chronyd call itself synchronised without any source",
        "With every server gone it still says Normal, stratum N, error 0: the loss stays hidden.",
        "sed -i '{number}s/$/ orphan/' {file}",
        "or remove the line",
    ),
    Check(
        "steps-any-time",
        Verdict.WARNING,
        _steps_any_time,
        "{where} allows steps at any time",
        "A step under running workers makes minutes happen twice, or never.",
        "sed -i '{number}s/.*/makestep 1 3/' {file}",
        "steps only in the first three updates",
    ),
    Check(
        "no-makestep",
        Verdict.WARNING,
        _absent("makestep"),
        "there is no makestep: a clock that is wrong at boot is only slewed",
        "At 83333 ppm a clock 22 minutes off takes more than four hours to come right.",
        "printf '\\nmakestep 1 3\\n' >>{conf}",
    ),
    Check(
        "no-rtcsync",
        Verdict.OK,
        _absent("rtcsync"),
        "there is no rtcsync: the hardware clock is left to drift, and the kernel is not told",
        "After a reboot the clock starts from the hardware clock.",
        "printf '\\nrtcsync\\n' >>{conf}",
    ),
    Check(
        "hopeful-maxclockerror",
        Verdict.OK,
        _absent("maxclockerror"),
        "maxclockerror is at its default of 1 ppm, which few oscillators keep",
        "chronyd's error bound is too small once its sources are lost; this agent adds its own"
        " max_drift_ppm (50), other readers of chronyd do not.",
        "printf '\\nmaxclockerror 50\\n' >>{conf}",
    ),
    # The last one matters only to those who are not root: see judge().
    Check(
        "no-access",
        Verdict.WARNING,
        _closed,
        "{where} closes chronyd's command port: only root can ask it",
        "clock-agent runs as a user of its own and will be told nothing.",
        "sed -i '{number}s/^/# /' {file}",
        "the port answers only this host, and only to look",
    ),
)
