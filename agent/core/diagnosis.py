"""Owns what ``doctor`` says: one finding with its reason and its remedy, and how a list is told."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from agent.core.model import Verdict
from agent.core.wording import plain

SCHEMA = 1
_LONGEST = 500
_WORDS = {
    Verdict.OK: "ok",
    Verdict.UNSURE: "unsure",
    Verdict.UNKNOWN: "unknown",
    Verdict.WARNING: "WARNING",
    Verdict.CRITICAL: "CRITICAL",
}


class Diagnosis(NamedTuple):
    """One thing that was looked at."""

    #: What was looked at: ``service``, ``chrony.conf``, the name of a reference ...
    topic: str
    #: A word for what was found; ``well`` when there is nothing to say against it.
    cause: str
    verdict: Verdict
    #: What was seen, in one sentence.
    seen: str
    #: Why it matters; needless where all is well.
    why: str = ""
    #: Lines for a root shell, in order; what is no command starts with ``#``.
    remedy: Tuple[str, ...] = ()
    #: The files it rests on, as ``path`` or ``path:line``.
    where: Tuple[str, ...] = ()

    @property
    def note(self) -> bool:
        """True for advice about something that is no fault."""
        return self.verdict is Verdict.OK and bool(self.remedy)


def ordered(found: Iterable[Diagnosis]) -> Tuple[Diagnosis, ...]:
    """The worst first; notes before what is simply well; otherwise in the order they came."""
    return tuple(sorted(found, key=lambda each: (-each.verdict, not each.note)))


def worst(found: Sequence[Diagnosis]) -> Verdict:
    """The verdict on all of it; nothing looked at is nothing known."""
    return max((each.verdict for each in found), default=Verdict.UNKNOWN)


def text(subject: str, found: Sequence[Diagnosis]) -> str:
    """The list for people: a line that sums up, then each finding with its remedy."""
    lines = [f"{subject}: {_summary(found)}"]
    for each in ordered(found):
        lines.extend(_told(each))
    return "\n".join(lines) + "\n"


def as_dict(subject: str, found: Sequence[Diagnosis]) -> Dict[str, Any]:
    """The list for programs. Keys are never removed within a schema."""
    verdict = worst(found)
    return {
        "schema": SCHEMA,
        "subject": subject,
        "verdict": verdict.word,
        "exit_code": verdict.exit_code,
        "findings": [
            {
                "topic": each.topic,
                "cause": each.cause,
                "verdict": each.verdict.word,
                "seen": plain(each.seen, _LONGEST),
                "why": plain(each.why, _LONGEST),
                "remedy": [plain(line, _LONGEST) for line in each.remedy],
                "where": [plain(path, _LONGEST) for path in each.where],
            }
            for each in ordered(found)
        ],
    }


def _summary(found: Sequence[Diagnosis]) -> str:
    counts: List[str] = []
    for verdict in (Verdict.CRITICAL, Verdict.WARNING, Verdict.UNKNOWN, Verdict.UNSURE):
        count = sum(each.verdict is verdict for each in found)
        if count:
            many = verdict is Verdict.WARNING and count > 1
            counts.append(f"{count} {verdict.word}" + ("s" if many else ""))
    return ", ".join(counts) or "nothing to mend"


def _told(each: Diagnosis) -> Iterator[str]:
    word = "note" if each.note else _WORDS[each.verdict]
    yield plain(f"{word} {each.topic} {each.cause}: {each.seen}", _LONGEST)
    if each.where:
        yield "    where: " + plain(", ".join(each.where), _LONGEST)
    if each.why:
        yield "    why: " + plain(each.why, _LONGEST)
    if each.remedy:
        yield "    to do:"
    for line in each.remedy:  # without a prompt: several lines can be copied and pasted at once
        yield "        " + plain(line, _LONGEST)
