"""Owns turning checked values into a ``Config``, and what settings ask of each other."""

from __future__ import annotations

from agent.core.model import Policy, Protect
from agent.core.quantities import format_duration
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
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

    from typing_extensions import TypeAlias

Values: TypeAlias = "Dict[str, Any]"  # Any: the table says which kind each key has
#: What chronyd's readings are called; a reference of that name could not be told apart.
_CHRONYD = "chronyd"
#: Headers whose second value would make a request another one.
_OWN_HEADERS = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "idempotency-key")
    + ("x-clock-agent-signature",)
)


class Note(NamedTuple):
    """Something about one line of the file (0: the file as a whole)."""

    line: int
    key: str
    what: str


def build(values: Values, source: str) -> Config:
    """The configuration made of ``values``, one per row of the table, all of them valid."""
    default = Config()
    interval = values["interval"]
    return Config(
        interval=interval,
        # Whoever only shortens the interval must not be told off for a key they did not write.
        confirm_interval=values["confirm_interval"] or min(default.confirm_interval, interval),
        policy=Policy(
            offset_warning=values["offset"]["warning"],
            offset_critical=values["offset"]["critical"],
            consecutive=values["consecutive"],
            grace=values["grace"],
            max_drift_ppm=values["max_drift_ppm"],
            protects=tuple(Protect(**record) for record in values["protects"] or ()),
        ),
        chrony=ChronySettings(**values["chrony"]),
        service=ServiceSettings(**values["service"]),
        references=tuple(ReferenceSettings(**record) for record in values["references"] or ()),
        statsd=StatsdSettings(**values["statsd"]),
        alerts=default.alerts if values["alerts"] is None else _alerts(values["alerts"]),
        history=HistorySettings(**values["history"]),
        paths=PathSettings(**values["paths"]),
        tags=values["tags"],
        source=source,
    )


def _alerts(records: Sequence[Values]) -> Tuple[AlertSettings, ...]:
    common = set(AlertSettings._fields)
    alerts: List[AlertSettings] = []
    for record in records:
        same = sum(alert.type == record["type"] for alert in alerts)
        name = record["name"] or (f"{record['type']}-{same + 1}" if same else record["type"])
        fields = {key: value for key, value in record.items() if key in common}
        options = {key: value for key, value in record.items() if key not in common}
        alerts.append(AlertSettings(**{**fields, "name": name, "options": options}))
    return tuple(alerts)


def conflicts(config: Config, lines: Mapping[str, int]) -> List[Note]:
    """What valid values do not allow each other; ``lines`` says where each key was written."""
    notes: List[Note] = []

    def add(keys: Sequence[str], what: str) -> None:
        written = [key for key in keys if key in lines] or ["offset"]
        notes.append(Note(lines.get(written[0], 0), written[0], what))

    for keys, what in (
        *_thresholds(config),
        *_names(config),
        *_commands(config),
        *_headers(config),
    ):
        add(keys, what)
    return notes


_Conflict: TypeAlias = "Tuple[Sequence[str], str]"


def _thresholds(config: Config) -> Iterator[_Conflict]:
    policy, say = config.policy, format_duration
    if policy.offset_warning >= policy.offset_critical:
        yield (
            ("offset.warning", "offset.critical"),
            f"the warning threshold {say(policy.offset_warning)} is not below the critical one"
            f" {say(policy.offset_critical)}; lower offset.warning or raise offset.critical",
        )
    if config.confirm_interval > config.interval:
        yield (
            ("confirm_interval", "interval"),
            f"{say(config.confirm_interval)} is longer than interval {say(config.interval)};"
            " accepted is at most interval",
        )
    if not policy.protects:
        return
    tightest = min(policy.protects, key=lambda protect: protect.margin)
    half = tightest.margin / 2
    if policy.offset_critical > half:
        yield (
            ("offset.critical", "protects"),
            f"the critical threshold {say(policy.offset_critical)} is above half of the margin"
            f" {say(tightest.margin)} of '{tightest.name}'; accepted is at most {say(half)}",
        )


def _names(config: Config) -> Iterator[_Conflict]:
    for key, names in (
        ("references", [reference.name for reference in config.references]),
        ("alerts", [alert.name for alert in config.alerts]),
        ("protects", [protect.name for protect in config.policy.protects]),
    ):
        for number, name in enumerate(names):
            places = (f"{key}[{number + 1}].name", f"{key}[{number + 1}]", key)
            if name.lower() in [earlier.lower() for earlier in names[:number]]:
                yield places, f"the name '{name}' is taken by an earlier entry; names are unique"
            if key == "references" and name.lower() == _CHRONYD:
                yield places, f"the name '{name}' is that of the local daemon; choose another"


def _commands(config: Config) -> Iterator[_Conflict]:
    for number, alert in enumerate(config.alerts):
        argv = alert.options.get("argv")
        if argv is not None and not (argv and argv[0].startswith("/")):
            yield (
                (f"alerts[{number + 1}].argv",),
                "needs the absolute path of a program first, as in [/usr/local/bin/page, --now]",
            )


def _headers(config: Config) -> Iterator[_Conflict]:
    """What cannot be a header of a request. Values are never shown: they may be secrets."""
    for number, alert in enumerate(config.alerts):
        place = (f"alerts[{number + 1}].headers",)
        for name, value in (alert.options.get("headers") or {}).items():
            if name.lower() in _OWN_HEADERS:
                yield place, f"{name} is set by clock-agent itself"
            if name.lower() == "authorization" and alert.options.get("token_file"):
                yield place, f"{name} is set by token_file"
            if not (value.isascii() and value.isprintable()):
                yield place, f"the value of {name} holds characters outside ASCII"
