"""Owns the shape of a row in the tables of causes, and how bad a cause can be."""

from __future__ import annotations

from agent.core.model import Verdict, Weight
from agent.core.service_remedies import Step
from agent.core.service_view import View
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Callable, Tuple


class Grade(NamedTuple):
    """How bad a cause is, and whether one reading of it is enough to say so."""

    verdict: Verdict
    weight: Weight


FINE = Grade(Verdict.OK, Weight.COUNTED)
UNREADABLE = Grade(Verdict.UNKNOWN, Weight.COUNTED)
ODD = Grade(Verdict.WARNING, Weight.COUNTED)
WRONG = Grade(Verdict.WARNING, Weight.AT_ONCE)
DOWN = Grade(Verdict.CRITICAL, Weight.COUNTED)
BROKEN = Grade(Verdict.CRITICAL, Weight.AT_ONCE)


class Cause(NamedTuple):
    """One row: when it applies, how bad it is, what is said and what is to be done."""

    word: str
    when: Callable[[View], bool]
    grade: Grade
    #: A sentence; the names in braces are those of ``core.service``'s words.
    what: str
    steps: Tuple[Step, ...] = ()
