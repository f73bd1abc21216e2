"""Owns the causes of an active unit: is what runs the right thing, alone, and there to stay?"""

from __future__ import annotations

from agent.core import service_remedies as remedies
from agent.core import service_view as ask
from agent.core.service_rows import DOWN, FINE, ODD, WRONG, Cause
from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Tuple

RUNNING: Tuple[Cause, ...] = (
    Cause(
        "no-process",
        ask.without_process,
        DOWN,
        "{unit} says {state}, but no chronyd is alive",
        (remedies.restart,),
    ),
    Cause(
        "process-gone",
        ask.main_state("Z", "X"),
        DOWN,
        "systemd holds {unit} to be running, but its process {pid} is dead",
        (remedies.restart,),
    ),
    Cause(
        "process-stopped",
        ask.main_state("T", "t"),
        DOWN,
        "{unit} is active, but its process {pid} is stopped (state T): it does nothing",
        (remedies.resume,),
    ),
    Cause(
        "process-stuck",
        ask.main_state("D"),
        ODD,
        "the process {pid} of {unit} waits for a device (state D)",
        (remedies.status,),
    ),
    Cause(
        "wrong-program",
        lambda v: v.misnamed,
        ODD,
        "the process {pid} of {unit} is {name}, not chronyd itself",
        (remedies.look_at_unit, remedies.restart),
    ),
    Cause(
        "second-discipliner",
        lambda v: bool(v.others),
        WRONG,
        "{others} is active beside {unit}: two daemons steer one clock",
        (remedies.end_others,),
    ),
    Cause(
        "contradictory-names",
        ask.twins_fight,
        WRONG,
        "{unit} runs, but {twins} is another unit for the same daemon: boot may start either",
        (remedies.keep_one, remedies.enable_now),
    ),
    Cause(
        "no-boot-link",
        lambda v: v.enabled_in_name,
        WRONG,
        "{unit} runs now, but no boot link leads to it, though systemctl calls it enabled: it will"
        " not start at the next boot",
        (remedies.unmask_aliases, remedies.enable),
    ),
    Cause(
        "disabled-running",
        lambda v: not v.at_boot,
        WRONG,
        "{unit} runs now, but is {enablement}: it will not start at the next boot",
        (remedies.unmask_aliases, remedies.enable),
    ),
    Cause(
        "masked-alias",
        lambda v: bool(v.masked),
        WRONG,
        "{unit} runs, but its other name {masked} is masked: whatever starts it by that name fails",
        (remedies.unmask_aliases, remedies.reload, remedies.enable_now),
    ),
    Cause("active", lambda _: True, FINE, "{unit} is active"),
)
