"""Owns writing settings out: the commented sample, and the configuration in force.

Both are YAML that ``agent.config`` reads back: the sample once its single ``#`` are taken away.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, Sequence

from agent.core.settings import AlertSettings, Config
from agent.settings_kinds import RESERVED
from agent.settings_lists import SINKS
from agent.settings_rows import Row, Section, Setting
from agent.settings_table import TABLE

_WIDTH = 92
_PLAIN = re.compile(r"[A-Za-z0-9/_]([A-Za-z0-9/_.@%+:-]*[A-Za-z0-9/_.@%+-])?")
_HEAD = """\
## Configuration of clock-agent. Every key is optional; shown is its default, or an example.
## A line that starts with ## explains, one that starts with # is a setting: take its # away.
## Durations need a unit: 500ms, 5s, 1m30s, 2h, 30d. So do sizes: 512KiB, 64MiB, 1GiB.
## Test with: clock-agent config check      Take over with: systemctl reload clock-agent
"""


def sample() -> str:
    """A configuration file with every key commented out, each with its help."""
    return _HEAD + "".join(f"\n{block}" for block in (_block(row) for row in TABLE))


def show(config: Config) -> str:
    """The configuration in force as YAML, secrets hidden; what is not a default is marked."""
    source = config.source or "none"
    lines = [f"# In force; file: {source}"]
    values = _values(config)
    for row in TABLE:
        lines += _shown(row, values[row.name], "")
    return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    """``text`` as YAML reads it back: in quotes unless it is plain beyond doubt."""
    if _PLAIN.fullmatch(text) and text.lower() not in RESERVED:
        return text
    import json  # a JSON string without escapes beyond ASCII is a YAML double-quoted one

    return json.dumps(text, ensure_ascii=False)


# The sample.


def _block(row: Row) -> str:
    """One key of the top level with everything below it."""
    if isinstance(row, Setting):
        return _prose(full_help(row), "") + f"#{row.name}: {_written(row)}\n"
    head = _prose(row.help, "") + f"#{row.name}:\n"
    if isinstance(row, Section):
        return head + "".join(
            _prose(full_help(below), "  ") + f"#  {below.name}: {_written(below)}\n"
            for below in row.rows
        )
    if not row.variants:
        return head + _record(row.rows, "")
    return head + "".join(
        _record((*row.rows, *extra), name) for name, extra in row.variants.items()
    )


def _record(rows: Sequence[Setting], variant: str) -> str:
    """One entry of a list; of the common keys only the first variant explains all."""
    text, mark = "", "-"
    explained = {id(row) for row in rows if variant in ("", "log")} | {
        id(row) for row in SINKS.get(variant, ())
    }
    for row in rows:
        if id(row) in explained:
            text += _prose(full_help(row), "    ")
        elif row.name != "type":
            continue
        value = variant if row.name == "type" else _written(row)
        text += f"#  {mark} {row.name}: {value}\n"
        mark = " "
    return text


def _prose(text: str, indent: str) -> str:
    import textwrap

    return "".join(
        f"## {line}\n"
        for line in textwrap.wrap(
            text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
    )


def full_help(row: Setting) -> str:
    """What a key means and what it accepts."""
    accepts = {"one": row.kind.accepts, "list": row.kind.accepts, "map": "names with texts"}
    unset = f", or {row.unset}" if row.default is None and row.shape == "one" else ""
    required = " Required." if row.required else ""
    return f"{row.help} Accepted: {accepts[row.shape]}{unset}.{required}"


def written_default(row: Setting) -> str:
    """The default as it would stand in the file; a required key has none."""
    return _value(row, row.default)


def _written(row: Setting) -> str:
    """The default (or, where there is none, the example) as it would stand in the file."""
    if row.example:
        return row.example if row.shape != "one" else scalar(row.example)
    return written_default(row)


# The configuration in force.


def _values(config: Config) -> Mapping[str, Any]:
    """``config`` in the shape of the table."""
    policy = config.policy
    own = config._asdict()
    return {
        **own,
        "offset": {"warning": policy.offset_warning, "critical": policy.offset_critical},
        "consecutive": policy.consecutive,
        "grace": policy.grace,
        "max_drift_ppm": policy.max_drift_ppm,
        "protects": [protect._asdict() for protect in policy.protects],
        "references": [reference._asdict() for reference in config.references],
        "alerts": [_alert(alert) for alert in config.alerts],
        **{
            name: own[name]._asdict()
            for name in ("chrony", "service", "statsd", "history", "paths")
        },
    }


def _alert(alert: AlertSettings) -> Mapping[str, Any]:
    return {**alert._asdict(), **alert.options}


def _shown(row: Row, value: Any, indent: str) -> Iterator[str]:
    if isinstance(row, Setting):
        yield f"{indent}{row.name}: {_value(row, value, hide=True)}"
    elif isinstance(row, Section):
        yield f"{indent}{row.name}:"
        for below in row.rows:
            yield from _shown(below, value[below.name], f"{indent}  ")
    elif not value:
        yield f"{indent}{row.name}: []"
    else:
        yield f"{indent}{row.name}:"
        for record in value:
            rows = row.rows + row.variants.get(record.get("type", ""), ())
            lines: List[str] = []
            for below in rows:
                lines += _shown(below, record[below.name], f"{indent}    ")
            yield f"{indent}  - {lines[0].strip()}"
            yield from lines[1:]


def _value(row: Setting, value: Any, *, hide: bool = False) -> str:
    show = (hide and row.kind.hide) or row.kind.show
    if value is None:
        return row.unset
    if row.shape == "list":
        return "[" + ", ".join(scalar(show(item)) for item in value) + "]"
    if row.shape == "map":
        pairs = (f"{scalar(name)}: {scalar(show(item))}" for name, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    text = show(value)
    return str(text) if row.kind.bare else scalar(text)
