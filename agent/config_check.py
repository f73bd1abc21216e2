"""Owns checking a tree of texts against the table of settings, and what settings ask of each other.

Nothing here stops at the first problem: whoever edits a file wants all of them in one go.
"""

from __future__ import annotations

import os
import stat

from agent.config_build import Note, Values, build, conflicts
from agent.config_tree import Entry, Mapping, Scalar, Sequence
from agent.core.address import Address
from agent.core.redis_url import RedisUrl, parse_url
from agent.core.settings import Config
from agent.core.statsd import is_local
from agent.core.typed import TYPE_CHECKING
from agent.settings_kinds import REDIS_URL, RESERVED, SECRET, near
from agent.settings_rows import Records, Row, Section, Setting
from agent.settings_table import TABLE

if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

    from agent.config_tree import Node

_TAG_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_MAX_ITEMS = 64
_LONGEST_NOTE = 400
_SAME_CLOCK = (
    "is on this host: unless a proxy answers there for a Redis elsewhere, its TIME is this very"
    " clock, which it can never contradict"
)


class Checker:
    """Collects values, problems and warnings while walking one file."""

    def __init__(self, source: str, world_readable: bool = False) -> None:
        self._source = source
        self._world_readable = world_readable
        self._lines: Dict[str, int] = {}
        self.problems: List[Note] = []
        self.warnings: List[Note] = []

    def problem(self, line: int, key: str, what: str) -> None:
        """Note a reason to refuse the file."""
        self.problems.append(Note(line, key, what))

    def report(self) -> List[str]:
        """Every problem as ``FILE:LINE: KEY: what``, in the order of the file."""
        return self._worded(self.problems)

    def warned(self) -> Tuple[str, ...]:
        """Every warning in the same form."""
        return tuple(self._worded(self.warnings))

    def config(self, root: Node) -> Config:
        """The configuration in ``root``; only valid as long as there are no problems."""
        values = self._section(root, TABLE, "")
        if self.problems:
            return Config()
        config = build(values, self._source)
        self.problems += conflicts(config, self._lines)
        if not config.alerts:
            line = self._lines["alerts"]
            self.warnings.append(Note(line, "alerts", "is empty; nobody is told of anything"))
        for number, reference in enumerate(config.references, 1):
            key = f"references[{number}].url"
            if _on_this_host(reference.url):
                self.warnings.append(Note(self._lines.get(key, 0), key, _SAME_CLOCK))
        return config

    def _worded(self, notes: List[Note]) -> List[str]:
        lines = []
        for note in sorted(set(notes)):
            place = f"{self._source}:{note.line}" if note.line else self._source
            lines.append(
                _printable(": ".join(part for part in (place, note.key, note.what) if part))
            )
        return lines

    # Walking the tree.

    def _section(self, node: Node, rows: Tuple[Row, ...], where: str) -> Values:
        """The values of all ``rows``; absent keys get their defaults."""
        values: Values = {}
        known = {row.name: row for row in rows}
        if isinstance(node, Mapping):
            for entry in node.entries:
                path = f"{where}.{entry.key}" if where else entry.key
                self._lines[path] = entry.line
                row = known.get(entry.key)
                if row is None:
                    accepted = ", ".join(known)
                    hint = near(entry.key, known) or f"; accepted here: {accepted}"
                    self.problem(entry.line, path, f"is not a known key{hint}")
                else:
                    self._row(row, entry, path, values)
        elif not _empty(node):
            self.problem(node.line, where, f"holds {_what(node)}; expected keys with values")
        for row in rows:
            if row.name not in values:
                values[row.name] = self._absent(row, node, where)
        return values

    def _absent(self, row: Row, node: Node, where: str) -> Any:
        if isinstance(row, Section):
            return self._section(Mapping((), node.line), row.rows, row.name)
        if isinstance(row, Records):
            return None
        if row.required and (isinstance(node, Mapping) or _empty(node)):
            what = f"lacks the key '{row.name}'; accepted is {row.kind.accepts}"
            self.problem(node.line, where, what)
        return row.default

    def _row(self, row: Row, entry: Entry, path: str, values: Values) -> None:
        node = entry.value
        if isinstance(row, Section):
            values[row.name] = self._section(node, row.rows, path)
        elif isinstance(row, Records):
            values[row.name] = None if _empty(node) else self._records(row, node, path)
        elif not _empty(node):
            values[row.name] = self._setting(row, node, path)
        elif row.shape != "map" and row.default is not None:
            default = (
                "" if row.required else f"; without the key it is {row.kind.show(row.default)}"
            )
            what = f"has no value; accepted is {row.kind.accepts}{default}"
            self.problem(entry.line, path, what)
            values[row.name] = row.default

    def _records(self, row: Records, node: Node, path: str) -> Any:
        if not isinstance(node, Sequence):
            self.problem(node.line, path, f"holds {_what(node)}; expected a list (lines with '- ')")
            return None
        self._count(len(node.items), node, path)
        return tuple(
            self._record(row, item, f"{path}[{number}]")
            for number, item in enumerate(node.items, 1)
        )

    def _record(self, row: Records, node: Node, path: str) -> Values:
        self._lines[path] = node.line
        if not (isinstance(node, Mapping) and row.variants):
            return self._section(node, row.rows, path)
        chosen = [
            e.value.text for e in node.entries if e.key == "type" and isinstance(e.value, Scalar)
        ]
        if chosen and chosen[0] in row.variants:
            return self._section(node, row.rows + row.variants[chosen[0]], path)
        # Of what type the other keys are cannot be known: only say what is wrong with "type".
        common = {common.name for common in row.rows}
        entries = tuple(entry for entry in node.entries if entry.key in common)
        return self._section(node._replace(entries=entries), row.rows, path)

    def _count(self, entries: int, node: Node, path: str) -> None:
        if entries > _MAX_ITEMS:
            self.problem(node.line, path, f"has {entries} entries; at most {_MAX_ITEMS}")

    def _setting(self, row: Setting, node: Node, path: str) -> Any:
        if row.shape == "list" and isinstance(node, Sequence):
            self._count(len(node.items), node, path)
            return tuple(self._value(row, item, path) for item in node.items)
        if row.shape == "map" and isinstance(node, Mapping):
            self._count(len(node.entries), node, path)
            return {entry.key: self._tag(row, entry, path) for entry in node.entries}
        if row.shape == "one" and isinstance(node, Scalar):
            return self._value(row, node, path)
        expected = {"one": "one value", "list": "a list", "map": "names with values"}[row.shape]
        self.problem(node.line, path, f"holds {_what(node)}; expected {expected}")
        return row.default

    def _tag(self, row: Setting, entry: Entry, path: str) -> Any:
        path = f"{path}.{entry.key}"
        if not entry.key or len(entry.key) > 64 or set(entry.key) - _TAG_NAME:
            what = "has an unusable name; accepted are letters, digits, _, . and -, at most 64"
            self.problem(entry.line, path, what)
        return self._value(row, entry.value, path)

    def _value(self, row: Setting, node: Node, path: str) -> Any:
        """The value of one scalar, or the default after noting what is wrong with it."""
        if not isinstance(node, Scalar):
            self.problem(node.line, path, f"holds {_what(node)}; expected one value")
            return row.default
        if node.plain and row.default is None and node.text in (row.unset, "null", "~"):
            return None
        if not all(c.isprintable() or (row.shape == "list" and c in "\n\t") for c in node.text):
            self.problem(node.line, path, "holds a control character or half of a surrogate pair")
            return row.default
        if row.kind.text and node.plain and node.text.lower() in RESERVED:
            what = f"'{node.text}' may be meant as a boolean; as a text write it in quotes"
            self.problem(node.line, path, f"{what}; accepted is {row.kind.accepts}")
            return row.default
        if row.kind.bare and not node.plain:
            what = f"is a text in quotes; accepted is {row.kind.accepts}, without quotes"
            self.problem(node.line, path, what)
            return row.default
        try:
            value = row.kind.parse(node.text)
        except ValueError as error:
            self.problem(node.line, path, str(error))
            return row.default
        self._secrecy(row, value, node.line, path)
        return value

    def _secrecy(self, row: Setting, value: str, line: int, path: str) -> None:
        """Warn of secrets that others can read; a missing file may still come, so it only warns."""
        holds = row.kind is SECRET or (row.kind is REDIS_URL and _has_password(value))
        if holds and self._world_readable:
            what = "holds a secret, and every user can read this file; chmod 0640 it"
            self.warnings.append(Note(line, path, what))
        if not row.secret_file:
            return
        try:
            mode = os.stat(value).st_mode
        except OSError as error:
            self.warnings.append(Note(line, path, f"{value}: {error.strerror}"))
            return
        if not stat.S_ISREG(mode):
            self.warnings.append(Note(line, path, f"{value} is no regular file"))
        elif mode & stat.S_IROTH:
            self.warnings.append(Note(line, path, f"every user can read {value}; chmod 0640 it"))


def _empty(node: Node) -> bool:
    """True for a key that is followed by nothing, as when everything below is commented out."""
    return isinstance(node, Scalar) and node.plain and node.text in ("", "null", "~")


def _has_password(url: str) -> bool:
    parsed = parse_url(url)
    return isinstance(parsed, RedisUrl) and parsed.password is not None


def _on_this_host(url: str) -> bool:
    """True when what is asked for the time runs, by its written address, on this very host."""
    parsed = parse_url(url)
    if not isinstance(parsed, RedisUrl) or parsed.service:
        return False
    return is_local(Address(path=parsed.path, host="" if parsed.path else parsed.servers[0].host))


def _what(node: Node) -> str:
    if isinstance(node, Scalar):
        return "one value"
    return "a list" if isinstance(node, Sequence) else "keys with values"


def _printable(text: str) -> str:
    """Keys and values come from outside: one line, no control characters, not endless."""
    escaped = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode("ascii")
        for c in text[:_LONGEST_NOTE]
    )
    return escaped + ("..." if len(text) > _LONGEST_NOTE else "")
