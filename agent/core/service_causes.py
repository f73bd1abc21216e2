"""Owns the table of everything that can be the matter with the time service, and what mends it.

The first cause whose question is answered with yes is the verdict, so the order matters: a mask
hides everything behind it, and a daemon that runs is looked at more closely than one that does not.
"""

from __future__ import annotations

from agent.core import service_remedies as remedies
from agent.core import service_view as ask
from agent.core.service_rows import BROKEN, DOWN, ODD, UNREADABLE, WRONG, Cause
from agent.core.service_running import RUNNING
from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Tuple

NOT_RUNNING: Tuple[Cause, ...] = (
    Cause(
        "unreadable",
        ask.unreadable,
        UNREADABLE,
        "what systemctl said of {unit} cannot be read (LoadState {load}, {state})",
        (remedies.status,),
    ),
    # Masked: nothing can start it, whatever else is true of it.
    Cause(
        "empty-unit-file",
        lambda v: ask.masked(v) and v.look.empty_file,
        BROKEN,
        "{unit} is masked by an empty file, {fragment}",
        (remedies.unmask, remedies.reload, remedies.enable_now),
    ),
    Cause(
        "masked-runtime",
        lambda v: ask.masked(v) and v.unit.unit_file_state == "masked-runtime",
        BROKEN,
        "{unit} is masked until the next boot; its state is {state}",
        (remedies.unmask, remedies.reload, remedies.enable_now),
    ),
    Cause(
        "masked-alias-left",
        lambda v: ask.masked(v) and bool(v.broken_aliases),
        BROKEN,
        "{unit} is masked, and {aliases} still leads to it: its state is {state}, whatever"
        " `systemctl is-active` says of the other name",
        (remedies.unmask, remedies.reload, remedies.enable_now),
    ),
    Cause(
        "masked-running",
        lambda v: ask.masked(v) and v.unit.active,
        BROKEN,
        "{unit} still runs but is masked: it will not come back after a restart or a reboot",
        (remedies.unmask, remedies.enable_now),
    ),
    Cause(
        "masked",
        ask.masked,
        BROKEN,
        "{unit} is masked and not running: `systemctl start` fails and so will every boot",
        (remedies.unmask, remedies.enable_now),
    ),
    # No unit file.
    Cause(
        "unit-file-gone",
        lambda v: ask.absent(v) and v.unit.active,
        BROKEN,
        "{unit} still runs but its unit file is gone: it will not come back after a restart",
        (remedies.install,),
    ),
    Cause(
        "started-by-hand",
        lambda v: ask.absent(v) and v.wanted == "auto" and bool(v.strays),
        WRONG,
        "chronyd runs as pid {pid}, but no unit starts it: it will not come back after a reboot",
        (remedies.end_strays, remedies.install),
    ),
    Cause(
        "wrong-name",
        lambda v: ask.absent(v) and v.wanted != "auto",
        BROKEN,
        "there is no unit {wanted}, which the configuration names",
        (remedies.use_auto,),
    ),
    Cause(
        "other-daemon",
        lambda v: ask.absent(v) and bool(v.others),
        WRONG,
        "there is no chrony unit; {others} is active, and only chronyd's word can be checked",
        (remedies.install, remedies.judge_other),
    ),
    Cause(
        "not-found",
        lambda v: ask.absent(v) and v.look.installed,
        BROKEN,
        "chronyd is on this host but no unit starts it: neither of its unit files is there",
        (remedies.install,),
    ),
    Cause(
        "not-installed",
        ask.absent,
        BROKEN,
        "chrony is not installed: no unit, no program, and no other time daemon is active",
        (remedies.install,),
    ),
    # A unit file that systemd refuses.
    Cause(
        "bad-setting",
        ask.load("bad-setting"),
        BROKEN,
        "the unit file of {unit} has a bad setting; it is {state} and cannot be started",
        (remedies.verify, remedies.enable_now),
    ),
    Cause(
        "load-error",
        ask.load("error"),
        BROKEN,
        "systemd cannot load {unit}: {error}",
        (remedies.reload, remedies.enable_now),
    ),
    # On its way. One such reading is no alert, three in a row are.
    Cause(
        "restart-loop",
        lambda v: v.looping,
        DOWN,
        "{unit} ends and is started again by systemd ({restarts} restarts so far; now {state})",
        (remedies.journal, remedies.restart),
    ),
    Cause(
        "activating",
        lambda v: v.unit.active_state == "activating",
        ODD,
        "{unit} is still starting: {state}",
        (remedies.status,),
    ),
    Cause(
        "deactivating",
        lambda v: v.unit.active_state == "deactivating",
        ODD,
        "{unit} is stopping: {state}",
        (remedies.status,),
    ),
    Cause(
        "reloading",
        lambda v: v.unit.active_state in ("reloading", "refreshing", "maintenance"),
        ODD,
        "{unit} is {state}",
        (remedies.status,),
    ),
    # Down, though a chronyd is alive.
    Cause(
        "lost-process",
        lambda v: ask.down(v) and ask.lost(v),
        WRONG,
        "systemd has lost sight of {unit}: it says {state}, but its chronyd runs as pid {pid}",
        (remedies.end_strays, remedies.unmask_aliases, remedies.enable_now),
    ),
    Cause(
        "started-by-hand",
        lambda v: ask.down(v) and bool(v.strays),
        WRONG,
        "chronyd runs as pid {pid}, started by hand: {unit} itself is {state}",
        (remedies.end_strays, remedies.unmask_aliases, remedies.enable_now),
    ),
    # Failed.
    Cause(
        "program-missing",
        lambda v: ask.failed(v) and v.cannot_run,
        BROKEN,
        "{unit} failed: {program} cannot be run (status 203)",
        (remedies.reinstall, remedies.enable_afresh),
    ),
    Cause(
        "failed-signal",
        lambda v: ask.failed(v) and bool(v.killed_by),
        DOWN,
        "{unit} failed: {end}",
        (remedies.enable_afresh,),
    ),
    Cause(
        "failed-exit-code",
        lambda v: ask.failed(v) and v.unit.result == "exit-code",
        DOWN,
        "{unit} failed: it ended with an error ({end})",
        (remedies.journal, remedies.enable_afresh),
    ),
    Cause(
        "failed",
        ask.failed,
        DOWN,
        "{unit} failed: {result}",
        (remedies.journal, remedies.enable_afresh),
    ),
    # Inactive.
    Cause(
        "condition-failed",
        lambda v: ask.inactive(v) and v.condition_failed,
        BROKEN,
        "{unit} was not started: a start condition is not met; {why}",
        (remedies.status, remedies.allow_clock),
    ),
    Cause(
        "disabled-stopped",
        lambda v: ask.inactive(v) and not v.at_boot,
        BROKEN,
        "{unit} is stopped and disabled: nothing will start it at boot",
        (remedies.end_others, remedies.unmask_aliases, remedies.enable_now),
    ),
    Cause(
        "stopped-by-other",
        lambda v: ask.inactive(v) and bool(v.others),
        DOWN,
        "{unit} is stopped and {others} is active: two time daemons exclude each other",
        (remedies.end_others, remedies.unmask_aliases, remedies.enable_now),
    ),
    Cause(
        "exited",
        lambda v: ask.inactive(v) and v.ended_itself,
        DOWN,
        "{unit} is not running: chronyd ended without being asked by systemd ({end})",
        (remedies.unmask_aliases, remedies.enable_now),
    ),
    Cause(
        "stopped",
        ask.inactive,
        DOWN,
        "{unit} is not running: {state}",
        (remedies.unmask_aliases, remedies.enable_now),
    ),
)

CAUSES = NOT_RUNNING + RUNNING
