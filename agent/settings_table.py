"""Owns the table of settings: every key, its kind, default, bounds and help, in reading order.

Loading, error texts, the sample file, ``config show`` and the manual page all come from it. The
defaults themselves are those of ``agent.core.settings``: a host without a file has them too.
"""

from __future__ import annotations

from agent.core.model import Policy
from agent.core.settings import (
    ChronySettings,
    Config,
    HistorySettings,
    PathSettings,
    ServiceSettings,
    StatsdSettings,
)
from agent.core.typed import TYPE_CHECKING
from agent.settings_kinds import (
    ADDRESS,
    BOOLEAN,
    DIALECT,
    DURATION,
    HOST,
    INTEGER,
    LABEL,
    NUMBER,
    PATH,
    PREFIX,
    PROGRAM,
    SIZE,
    UNIT,
    bounded,
)
from agent.settings_lists import ALERT, PROTECT, REFERENCE, SINKS
from agent.settings_rows import DAY, Records, Row, Section, Setting

if TYPE_CHECKING:
    from typing import Tuple

_CONFIG = Config()
_POLICY = Policy()
_CHRONY = ChronySettings()
_SERVICE = ServiceSettings()
_STATSD = StatsdSettings()
_HISTORY = HistorySettings()
_PATHS = PathSettings()

_OFFSET = Section(
    "offset",
    "How far the local clock may be from a trusted reference.",
    (
        Setting(
            "warning",
            bounded(DURATION, 0.0001, DAY),
            _POLICY.offset_warning,
            "Above this is a warning. Must be below critical.",
        ),
        Setting(
            "critical",
            bounded(DURATION, 0.0001, DAY),
            _POLICY.offset_critical,
            "Above this is critical. At most half of the smallest margin under protects.",
        ),
    ),
)

_CHRONY_SECTION = Section(
    "chrony",
    "How chronyd is asked.",
    (
        Setting("enabled", BOOLEAN, _CHRONY.enabled, "false leaves chronyd out of the judgement."),
        Setting("program", PROGRAM, _CHRONY.program, "chronyc, or where it is."),
        Setting(
            "address",
            HOST,
            _CHRONY.address,
            "A host or socket for chronyc -h; null asks the default ones.",
        ),
        Setting(
            "max_age",
            bounded(DURATION, 1.0, 30 * DAY),
            _CHRONY.max_age,
            "Older measurements of chronyd are stale; auto derives it from its polling.",
            unset="auto",
        ),
    ),
)

_SERVICE_SECTION = Section(
    "service",
    "How systemd is asked about the time service.",
    (
        Setting("enabled", BOOLEAN, _SERVICE.enabled, "false leaves the service unjudged."),
        Setting("program", PROGRAM, _SERVICE.program, "systemctl, or where it is."),
        Setting("unit", UNIT, _SERVICE.unit, "The unit to judge; auto finds it."),
    ),
)

_STATSD_SECTION = Section(
    "statsd",
    "Where the gauges go.",
    (
        Setting("enabled", BOOLEAN, _STATSD.enabled, "false sends nothing."),
        Setting(
            "address",
            ADDRESS,
            _STATSD.address,
            "A UDP address, or the path of a unix datagram socket.",
        ),
        Setting("prefix", PREFIX, _STATSD.prefix, "What the names of the gauges begin with."),
        Setting("dialect", DIALECT, _STATSD.dialect, "How tags are written; plain has none."),
        Setting(
            "host",
            PREFIX,
            _STATSD.host,
            "The host's name in gauges: auto adds none for a local address, else a tag where the"
            " dialect has tags, else a part of the name; none adds none; or a name.",
        ),
        Setting("tags", LABEL, _STATSD.tags, "Added to every gauge.", shape="map"),
    ),
)

_HISTORY_SECTION = Section(
    "history",
    "How much is remembered.",
    (
        Setting(
            "retention",
            bounded(DURATION, 3600.0, 3660 * DAY),
            _HISTORY.retention,
            "Older readings are deleted.",
        ),
        Setting(
            "max_size",
            bounded(SIZE, 1024**2, 1024**4),
            _HISTORY.max_size,
            "The oldest readings are deleted when the file is larger.",
        ),
    ),
)

_PATHS_SECTION = Section(
    "paths",
    "Where the daemon writes. The unit allows only the default ones.",
    (
        Setting("state", PATH, _PATHS.state, "What must outlive a reboot."),
        Setting("runtime", PATH, _PATHS.runtime, "The published status."),
    ),
)

TABLE: Tuple[Row, ...] = (
    Setting(
        "interval",
        bounded(DURATION, 0.1, DAY),
        _CONFIG.interval,
        "Time between two readings.",
    ),
    Setting(
        "confirm_interval",
        bounded(DURATION, 0.1, DAY),
        None,
        "The same while an alert is about to be raised or resolved; at most interval. auto is 30s,"
        " or interval when that is shorter.",
        unset="auto",
    ),
    Setting(
        "consecutive",
        bounded(INTEGER, 1, 100),
        _POLICY.consecutive,
        "Readings in a row that raise an alert, and that resolve it.",
    ),
    Setting(
        "grace",
        bounded(DURATION, 0.0, DAY),
        _POLICY.grace,
        "After boot, how long 'never synchronised' is not held against the host.",
    ),
    _OFFSET,
    Setting(
        "max_drift_ppm",
        bounded(NUMBER, 0.0, 100_000.0),
        _POLICY.max_drift_ppm,
        "How fast the clock may wander while nobody corrects it; widens old readings.",
    ),
    _CHRONY_SECTION,
    _SERVICE_SECTION,
    Records("references", "Redis servers whose TIME is compared with the clock.", REFERENCE),
    _STATSD_SECTION,
    Records("alerts", "Who is told. Without this key: the log.", ALERT, SINKS),
    Records("protects", "What on this host depends on the clock.", PROTECT),
    _HISTORY_SECTION,
    _PATHS_SECTION,
    Setting("tags", LABEL, _CONFIG.tags, "Added to every gauge and every alert.", shape="map"),
)
