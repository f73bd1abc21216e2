"""Owns reading YAML strictly: a tree of texts with line numbers, and every oddity as a problem.

Built from PyYAML's events with the BaseLoader, so that nothing is guessed (``no`` stays ``no``) and
nothing is expanded: anchors, aliases, tags and merge keys are refused, depth is bounded.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

import yaml

from agent.config_tree import Entry, Mapping, Node, Scalar, Sequence

MAX_DEPTH = 12


#: Line (0: the file as a whole), key, and what is wrong with it.
Oddity = Tuple[int, str, str]


class _Refused(Exception):
    """Reading cannot go on; the reason has been noted."""


def parse(text: str) -> Tuple[Optional[Node], List[Oddity]]:
    """Return the tree of the one document in ``text`` (None when empty), and what is wrong."""
    builder = _Builder(text)
    try:
        return builder.document(), builder.oddities
    except _Refused:
        pass
    except yaml.MarkedYAMLError as error:
        builder.oddities.append(_syntax(error))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        builder.oddities.append((line, "", f"has the character {error.character:#x}, not allowed"))
    except (ValueError, OverflowError, RecursionError):  # PyYAML on escapes such as \Uffffffff
        builder.oddities.append((builder.line, "", "cannot be read as YAML"))
    return None, builder.oddities


def _syntax(error: yaml.MarkedYAMLError) -> Oddity:
    """PyYAML's complaint in one line, with advice for the most common one."""
    mark = error.problem_mark or error.context_mark
    said = " ".join(str(error.problem or error.context or "not YAML").split())
    if "'\\t'" in said:
        said += "; indent with spaces, not with tabs"
    elif "mapping values are not allowed" in said:
        said += "; check the indentation, and quote a text that holds ': '"
    return (mark.line + 1 if mark else 0, "", f"is not YAML: {said[:300]}")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


class _Builder:
    """Turns events into nodes, noting what is refused on the way."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[yaml.Event] = iter(yaml.parse(text, Loader=yaml.BaseLoader))
        self.oddities: List[Oddity] = []
        self.line = 0

    def document(self) -> Optional[Node]:
        """The root of the only document; None when the text holds none."""
        self._next()
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        root = self._node(self._next(), "", 0)
        self._next()
        if not isinstance(self._next(), yaml.StreamEndEvent):
            self._refuse("", "starts a second document (---); one file holds one")
        return root

    def _next(self) -> yaml.Event:
        event = next(self._events)
        self.line = _line(event)
        return event

    def _refuse(self, key: str, what: str) -> None:
        self.oddities.append((self.line, key, what))

    def _node(self, event: yaml.Event, key: str, depth: int) -> Node:
        line = _line(event)
        if depth > MAX_DEPTH:
            self._refuse(key, f"is nested deeper than {MAX_DEPTH} levels")
            raise _Refused
        if getattr(event, "anchor", None) is not None:
            self._refuse(key, "uses an anchor or alias (&, *); write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._refuse(key, f"uses the tag {str(tag)[:40]}; write the value without it")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(key, line, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(key, line, depth)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, event.style is None, line)
        return Scalar("", True, line)  # an alias, noted above

    def _mapping(self, where: str, line: int, depth: int) -> Mapping:
        entries: List[Entry] = []
        seen: Dict[str, int] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key_line = self.line
            name = self._node(event, where, depth + 1)
            key = name.text if isinstance(name, Scalar) else ""
            path = f"{where}.{key}" if where else key
            value = self._node(self._next(), path, depth + 1)
            self.line = key_line
            if not isinstance(name, Scalar):
                self._refuse(where, "has a list or a mapping as a key")
            elif key == "<<":
                self._refuse(path, "merge keys (<<) are not accepted; write the values out")
            elif key in seen:
                self._refuse(path, f"is given twice, first in line {seen[key]}; keep one")
            else:
                seen[key] = key_line
                entries.append(Entry(key, key_line, value))
        return Mapping(tuple(entries), line)

    def _sequence(self, where: str, line: int, depth: int) -> Sequence:
        items: List[Node] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, f"{where}[{len(items) + 1}]", depth + 1))
        return Sequence(tuple(items), line)
