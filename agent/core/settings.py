"""Owns the shape of the configuration once it is known to be valid. ``agent.config`` fills it.

Durations are seconds. The defaults here are those of a host without any configuration file; the
table in ``agent.config`` is the only place where names, bounds and help texts are written down.
"""

from __future__ import annotations

from agent.core.model import Policy, Verdict
from agent.core.redis_url import shown_url
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional, Tuple


class ChronySettings(NamedTuple):
    """How to ask chronyd."""

    enabled: bool = True
    program: str = "chronyc"
    #: A host, address or socket path for ``chronyc -h``; None asks the default addresses.
    address: Optional[str] = None
    #: Seconds after which chronyd's newest sample is stale; None derives it from its polling.
    max_age: Optional[float] = None


class ServiceSettings(NamedTuple):
    """How to ask systemd about the time service."""

    enabled: bool = True
    program: str = "systemctl"
    #: The unit to judge; ``auto`` finds the real one of the family.
    unit: str = "auto"


class ReferenceSettings(NamedTuple):
    """One Redis server whose TIME is compared with the local clock."""

    name: str
    #: redis://, rediss://, unix:// or redis+sentinel://; may hold a user and a password.
    url: str
    #: A file whose first line is the password; overrides the one in the URL.
    password_file: Optional[str] = None
    ca_file: Optional[str] = None
    cert_file: Optional[str] = None
    key_file: Optional[str] = None
    #: The name the TLS certificate must carry; None takes the host of the URL.
    server_name: Optional[str] = None
    timeout: float = 1.0
    samples: int = 5

    def __repr__(self) -> str:
        """As a named tuple shows itself, but without the password in the URL."""
        shown = self._asdict() | {"url": shown_url(self.url)}
        fields = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"ReferenceSettings({fields})"


class StatsdSettings(NamedTuple):
    """Where the gauges go, and in which dialect."""

    enabled: bool = True
    #: host:port, [v6]:port, or the path of a unix datagram socket.
    address: str = "127.0.0.1:8125"
    prefix: str = "clock"
    dialect: str = "plain"
    #: ``auto``, ``none`` or a name; see DESIGN 6.1 for what auto means.
    host: str = "auto"
    tags: Mapping[str, str] = {}


class AlertSettings(NamedTuple):
    """One way of telling people."""

    type: str
    #: Unique among the sinks of one configuration; defaults to type and position.
    name: str
    min_severity: Verdict = Verdict.UNKNOWN
    timeout: float = 10.0
    tags: Mapping[str, str] = {}
    #: The settings only this type has, already checked against its own table.
    options: Mapping[str, Any] = {}  # Any: each sink's table says what its values are


class HistorySettings(NamedTuple):
    """How much is remembered."""

    retention: float = 30 * 86400.0
    #: Bytes.
    max_size: int = 64 * 1024 * 1024


class PathSettings(NamedTuple):
    """Where the daemon keeps what it writes."""

    state: str = "/var/lib/clock-agent"
    runtime: str = "/run/clock-agent"


class Config(NamedTuple):
    """Everything a command needs to know, valid as a whole."""

    interval: float = 300.0
    confirm_interval: float = 30.0
    policy: Policy = Policy()
    chrony: ChronySettings = ChronySettings()
    service: ServiceSettings = ServiceSettings()
    references: Tuple[ReferenceSettings, ...] = ()
    statsd: StatsdSettings = StatsdSettings()
    alerts: Tuple[AlertSettings, ...] = (AlertSettings(type="log", name="log"),)
    history: HistorySettings = HistorySettings()
    paths: PathSettings = PathSettings()
    tags: Mapping[str, str] = {}
    #: The file it came from; None for built-in defaults.
    source: Optional[str] = None
