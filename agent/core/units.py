"""Owns what ``systemctl show`` says of the time daemons: which units to ask for, how to read it.

One block comes back per name asked, in no promised order; an alias answers with the block of the
real unit. Keys and values are not translated in any locale. All of it is data from outside: what
cannot be read is left at "not said", nothing here raises.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Dict, List, Tuple

#: The names chronyd's real unit goes by: most distributions, Debian and its children, upstream's
#: newer unprivileged variant.
CHRONY_UNITS = ("chronyd.service", "chrony.service", "chronyd-restricted.service")
#: Units of the other daemons that steer a clock, and old names that are often aliases of chronyd's.
TIMESYNCD = "systemd-timesyncd.service"
OTHER_UNITS = (
    "ntpd.service",
    "ntp.service",
    "ntpsec.service",
    "openntpd.service",
    TIMESYNCD,
)
FAMILY = CHRONY_UNITS + OTHER_UNITS
#: Where unit files live, the directory that wins first.
SEARCH = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)

#: The directories that hold boot links end in these.
WANTS = (".wants", ".requires", ".upholds")

PROPERTIES = (
    "Id",
    "Names",
    "LoadState",
    "LoadError",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "FragmentPath",
    "MainPID",
    "NRestarts",
    "Result",
    "ConditionResult",
    "ConditionTimestamp",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainStartTimestampMonotonic",
    "ExecMainExitTimestampMonotonic",
    "ActiveExitTimestampMonotonic",
    "ExecStart",
)

#: The words systemd has for the two states a decision rests on.
LOAD_STATES = frozenset(("loaded", "masked", "not-found", "bad-setting", "error", "merged", "stub"))
ACTIVE_STATES = frozenset(
    (
        "active",
        "reloading",
        "refreshing",
        "inactive",
        "failed",
        "activating",
        "deactivating",
        "maintenance",
    )
)


class Unit(NamedTuple):
    """One unit as systemd sees it; ``""`` and 0 where it did not say."""

    id: str
    #: The id and every alias systemd knows at this moment.
    names: Tuple[str, ...] = ()
    load_state: str = ""
    load_error: str = ""
    active_state: str = ""
    sub_state: str = ""
    unit_file_state: str = ""
    fragment_path: str = ""
    main_pid: int = 0
    #: Automatic restarts since the last start by hand.
    restarts: int = 0
    result: str = ""
    #: The start conditions were looked at, and were they met. Both False for a unit never started.
    condition_checked: bool = False
    condition_met: bool = False
    #: How the main process ended: 1 exited, 2 killed, 3 dumped core; and its status or signal.
    exec_code: int = 0
    exec_status: int = 0
    #: CLOCK_MONOTONIC seconds; 0.0 when it has not happened.
    started_at: float = 0.0
    exited_at: float = 0.0
    #: When the unit left "active": before the process ended if a stop was asked for.
    deactivated_at: float = 0.0
    #: The program of ExecStart, and the exit status of its last start (203: could not be run).
    program: str = ""
    program_status: int = 0

    @property
    def readable(self) -> bool:
        """True when both states a decision rests on are words systemd has."""
        return self.load_state in LOAD_STATES and self.active_state in ACTIVE_STATES

    @property
    def active(self) -> bool:
        """True when systemd holds it to be running."""
        return self.active_state in ("active", "reloading", "refreshing")


def if_loaded(name: str) -> str:
    """A pattern for ``systemctl show`` that is ``name`` alone, and only if systemd has it loaded.

    Asked for a name, systemd looks for its file in every directory, which takes it a millisecond
    each time when there is none. A unit without a file can only be one that is loaded.
    """
    return f"{name[:-1]}[{name[-1]}]"


def parse(text: str) -> Tuple[Unit, ...]:
    """Read the output of ``systemctl show``: one ``Unit`` per id, sorted by it."""
    units: Dict[str, Unit] = {}
    for block in _blocks(text):
        unit = _unit(block)
        if unit.id:
            units.setdefault(unit.id, unit)
    return tuple(units[name] for name in sorted(units))


def _blocks(text: str) -> List[Dict[str, str]]:
    blocks: List[Dict[str, str]] = [{}]
    for line in text.split("\n"):
        key, separator, value = line.rstrip("\r").partition("=")
        if not separator:
            if not line.strip():
                blocks.append({})
            continue
        if key == "Id" and "Id" in blocks[-1]:  # the blank line between two blocks got lost
            blocks.append({})
        blocks[-1].setdefault(key, value)
    return blocks


def _unit(block: Dict[str, str]) -> Unit:
    def said(key: str) -> str:
        return block.get(key, "").strip()

    names = tuple(said("Names").split())
    program, program_status = _exec_start(said("ExecStart"))
    return Unit(
        id=said("Id") or (names[0] if names else ""),
        names=names,
        load_state=said("LoadState"),
        load_error=said("LoadError"),
        active_state=said("ActiveState"),
        sub_state=said("SubState"),
        unit_file_state=said("UnitFileState"),
        fragment_path=said("FragmentPath"),
        main_pid=_number(said("MainPID")),
        restarts=_number(said("NRestarts")),
        result=said("Result"),
        condition_checked=said("ConditionTimestamp") not in ("", "0", "n/a"),
        condition_met=said("ConditionResult") == "yes",
        exec_code=_number(said("ExecMainCode")),
        exec_status=_number(said("ExecMainStatus")),
        started_at=_number(said("ExecMainStartTimestampMonotonic")) / 1e6,
        exited_at=_number(said("ExecMainExitTimestampMonotonic")) / 1e6,
        deactivated_at=_number(said("ActiveExitTimestampMonotonic")) / 1e6,
        program=program,
        program_status=program_status,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0


def _exec_start(text: str) -> Tuple[str, int]:
    """The program and last exit status in ``{ path=/x ; argv[]=/x -a ; ... ; status=203/n }``."""
    fields: Dict[str, str] = {}
    for part in text.strip("{} ").split(" ; "):
        key, separator, value = part.strip().partition("=")
        if separator:
            fields.setdefault(key, value)
    return fields.get("path", ""), _number(fields.get("status", "").partition("/")[0])
