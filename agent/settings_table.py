"""Owns the table of settings: every key, its kind, default, bounds and help, in reading order.

Loading, error texts, the sample file, ``config show`` and the manual page all come from it. The
defaults themselves are those of ``agent.core.settings``: a host without a file has them too.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Tuple, Union

from agent.core.model import Policy
from agent.core.settings import (
    AlertSettings,
    ChronySettings,
    Config,
    HistorySettings,
    PathSettings,
    ReferenceSettings,
    ServiceSettings,
    StatsdSettings,
)
from agent.settings_kinds import (
    ADDRESS,
    ARGUMENT,
    BOOLEAN,
    DIALECT,
    DURATION,
    HOST,
    HTTP_URL,
    INTEGER,
    LABEL,
    NAME,
    NUMBER,
    PATH,
    PREFIX,
    PROGRAM,
    REDIS_URL,
    SECRET,
    SECRET_URL,
    SEVERITY,
    SIZE,
    TEXT,
    UNIT,
    Kind,
    bounded,
    choice,
)


class Required:
    """Stands where a default would, for a setting that has none."""


class Setting(NamedTuple):
    """One key with one value, one list of values or one mapping of names to values."""

    name: str
    kind: Kind
    #: The value when the key is absent; None is written ``unset``.
    default: Any  # Any: each kind has its own type of value
    help: str
    #: What the sample shows where there is no default to show.
    example: str = ""
    #: ``one`` value, a ``list`` or a ``map``.
    shape: str = "one"
    #: The word that stands for None.
    unset: str = "null"
    #: True where the value names a file that holds a secret.
    secret_file: bool = False

    @property
    def required(self) -> bool:
        """True when the key must be given."""
        return isinstance(self.default, Required)


class Section(NamedTuple):
    """A key that holds further keys."""

    name: str
    help: str
    rows: Tuple[Setting, ...]


class Records(NamedTuple):
    """A key that holds a list of sections. ``variants`` adds rows by the value of ``type``."""

    name: str
    help: str
    rows: Tuple[Setting, ...]
    variants: Mapping[str, Tuple[Setting, ...]] = {}


Row = Union[Setting, Section, Records]

_CONFIG = Config()
_POLICY = Policy()
_CHRONY = ChronySettings()
_SERVICE = ServiceSettings()
_STATSD = StatsdSettings()
_HISTORY = HistorySettings()
_PATHS = PathSettings()
_REFERENCE = ReferenceSettings(name="", url="")
_ALERT = AlertSettings(type="", name="")
_REQUIRED = Required()

_DAY = 86400.0
_CREDENTIAL = (
    "A file whose first line is the {what}. With LoadCredential= in a drop-in of the unit it is"
    " /run/credentials/clock-agent.service/NAME."
)
_CA_FILE = Setting(
    "ca_file", PATH, None, "Certificates to trust (PEM); null trusts those of the system."
)
_HEADERS = Setting(
    "headers", SECRET, {}, "Further HTTP headers; their values are never shown.", shape="map"
)
_TOKEN_FILE = Setting(
    "token_file",
    PATH,
    None,
    _CREDENTIAL.format(what="token sent as 'Authorization: Bearer'"),
    secret_file=True,
)


REFERENCE: Tuple[Setting, ...] = (
    Setting(
        "name", NAME, _REQUIRED, "Names the server in gauges and texts; unique.", example="locks"
    ),
    Setting(
        "url",
        REDIS_URL,
        _REQUIRED,
        "redis://[user[:password]@]host[:port], rediss:// for TLS, unix:///path for a socket, or"
        " redis+sentinel://host[:port],.../service. A user needs only +time.",
        example="redis://lock-store.internal:6379",
    ),
    Setting(
        "password_file",
        PATH,
        _REFERENCE.password_file,
        _CREDENTIAL.format(what="password") + " It overrides the one in the URL.",
        secret_file=True,
    ),
    _CA_FILE,
    Setting("cert_file", PATH, _REFERENCE.cert_file, "Client certificate for TLS (PEM)."),
    Setting("key_file", PATH, _REFERENCE.key_file, "Its private key (PEM).", secret_file=True),
    Setting(
        "server_name",
        HOST,
        _REFERENCE.server_name,
        "The name its certificate must carry; null takes the host of the URL.",
    ),
    Setting(
        "timeout",
        bounded(DURATION, 0.01, 10.0),
        _REFERENCE.timeout,
        "For everything in one reading: name look-up, connection, log-in and all samples.",
    ),
    Setting(
        "samples",
        bounded(INTEGER, 1, 50),
        _REFERENCE.samples,
        "TIME exchanges per reading; the one with the shortest round trip counts.",
    ),
)

SINKS: Mapping[str, Tuple[Setting, ...]] = {
    "log": (),
    "command": (
        Setting(
            "argv",
            ARGUMENT,
            _REQUIRED,
            "The program and its arguments, without a shell; the alert is JSON on its input.",
            example="[/usr/local/bin/page]",
            shape="list",
        ),
    ),
    "webhook": (
        Setting(
            "url",
            SECRET_URL,
            _REQUIRED,
            "Where the alert is sent as JSON by POST.",
            example="https://hooks.internal/clock",
        ),
        _HEADERS,
        _TOKEN_FILE,
        Setting(
            "secret_file",
            PATH,
            None,
            _CREDENTIAL.format(what="key that signs each body with HMAC-SHA256"),
            secret_file=True,
        ),
        _CA_FILE,
    ),
    "alertmanager": (
        Setting(
            "url",
            HTTP_URL,
            _REQUIRED,
            "The base URL of Prometheus Alertmanager.",
            example="http://alerts.internal:9093",
        ),
        _HEADERS,
        _TOKEN_FILE,
        _CA_FILE,
    ),
    "pagerduty": (
        Setting(
            "routing_key_file",
            PATH,
            _REQUIRED,
            _CREDENTIAL.format(what="integration key (Events API v2)"),
            example="/etc/clock-agent/pagerduty.key",
            secret_file=True,
        ),
        Setting(
            "url",
            HTTP_URL,
            "https://events.pagerduty.com/v2/enqueue",
            "The Events API; change it for another region or a relay.",
        ),
        _CA_FILE,
    ),
}

ALERT: Tuple[Setting, ...] = (
    Setting("type", choice(*SINKS), _REQUIRED, "The way of telling.", example="log"),
    Setting(
        "name", NAME, None, "Names it in texts; unique. By default its type and place in the list."
    ),
    Setting(
        "min_severity", SEVERITY, _ALERT.min_severity, "Alerts below this are not sent this way."
    ),
    Setting(
        "timeout",
        bounded(DURATION, 0.1, 300.0),
        _ALERT.timeout,
        "For one attempt as a whole; what fails is tried again later.",
    ),
    Setting("tags", LABEL, _ALERT.tags, "Added to the alerts sent this way.", shape="map"),
)

PROTECT: Tuple[Setting, ...] = (
    Setting("name", TEXT, _REQUIRED, "What depends on the clock.", example="payout-lock"),
    Setting(
        "margin",
        bounded(DURATION, 0.001, 366 * _DAY),
        _REQUIRED,
        "How far the clock may be off before it breaks.",
        example="20m",
    ),
)

_OFFSET = Section(
    "offset",
    "How far the local clock may be from a trusted reference.",
    (
        Setting(
            "warning",
            bounded(DURATION, 0.0001, _DAY),
            _POLICY.offset_warning,
            "Above this is a warning. Must be below critical.",
        ),
        Setting(
            "critical",
            bounded(DURATION, 0.0001, _DAY),
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
            bounded(DURATION, 1.0, 30 * _DAY),
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
            bounded(DURATION, 3600.0, 3660 * _DAY),
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
        bounded(DURATION, 0.1, _DAY),
        _CONFIG.interval,
        "Time between two readings.",
    ),
    Setting(
        "confirm_interval",
        bounded(DURATION, 0.1, _DAY),
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
        bounded(DURATION, 0.0, _DAY),
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
