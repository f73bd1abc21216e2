"""Owns which readings confirm one another: the majority, the odd one out, the one to believe.

This only words a verdict and dates an alert. It never softens a verdict: a source that proves a
breach is a breach, even when all others disagree with it.
"""

from __future__ import annotations

from agent.core.model import Policy, Reading
from agent.core.typed import TYPE_CHECKING
from agent.core.wording import CHRONYD

if TYPE_CHECKING:
    from typing import Optional, Sequence, Tuple

#: Two sources that both say "5 s" need not agree to the millisecond to tell the same story.
_SAME_STORY = 0.1


def agree(policy: Policy, one: Reading, other: Reading) -> bool:
    """True when both readings tell the same story about the local clock.

    Their intervals may miss each other by half the warning threshold (servers are a few
    milliseconds off among themselves) or by a tenth of the larger offset.
    """
    gap = abs(one.offset - other.offset) - one.uncertainty - other.uncertainty
    larger = max(abs(one.offset), abs(other.offset))
    return gap <= max(policy.offset_warning / 2, larger * _SAME_STORY)


def majority(policy: Policy, readings: Sequence[Reading]) -> Tuple[Reading, ...]:
    """The largest group around one reading, when it is more than half of all; else nothing."""
    groups = [tuple(r for r in readings if agree(policy, centre, r)) for centre in readings]
    largest = max(groups, key=len, default=())
    return largest if 2 * len(largest) > len(readings) else ()


def credible(policy: Policy, readings: Sequence[Reading]) -> Optional[Reading]:
    """The reading to date things by: the most precise of the majority.

    Without a majority chronyd's, which compares several servers itself; without that, none can be
    preferred and the most precise one serves. None when there is no reading.
    """
    chronyd = [r for r in readings if r.source == CHRONYD]
    believed = majority(policy, readings) or chronyd or readings
    return min(believed, key=lambda r: r.uncertainty, default=None)
