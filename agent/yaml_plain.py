"""Owns reading the plain part of YAML, in which configurations are written, without PyYAML (25 ms).

Plain are keys of letters, digits, ``_`` and ``-``, blocks by indentation, lists of ``- ``, values
in one line, ``[a, b]`` and ``{a: b}`` of simple words, and comments; all in printable ASCII. What
is read is what ``agent.yaml_tree`` would read. Of a text with anything else in it nothing is read:
it is left to PyYAML, and so is saying what is wrong with it.
"""

from __future__ import annotations

from agent.config_tree import Entry, Mapping, Scalar, Sequence
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from agent.config_tree import Node

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
#: What a value without quotes may hold between brackets or braces, and elsewhere.
_INSIDE = _WORD | frozenset("./@%+=~")
_VALUE = _INSIDE | frozenset(" :,()*?&")
_LONGEST_KEY = 100
_DEEPEST = 10


class _Line(NamedTuple):
    """A line with more than a comment in it, or what stands in one behind its dash."""

    number: int
    indent: int
    text: str


_END = _Line(0, -1, "")


class _NotPlain(Exception):
    """The text is to be left to PyYAML."""


def parse(text: str) -> Optional[Mapping]:
    """The tree of a plain text, which holds keys with values; None for any other text."""
    if not (text.isascii() and text.replace("\n", "").isprintable()):
        return None
    try:
        reader = _Reader(_lines(text))
        root = reader.mapping(0, 0)
        # a line with an indentation of its own has ended every block around it
        return root if root.entries and reader.at_end else None
    except _NotPlain:
        return None


def _lines(text: str) -> List[_Line]:
    """The lines of ``text`` that are not all comment, without their comments."""
    lines: List[_Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip()
        if content.startswith("#"):
            continue
        if " #" in content:
            if "'" in content or '"' in content:
                raise _NotPlain
            content = content.partition(" #")[0].rstrip()
        if content:
            lines.append(_Line(number, line.index(content), content))
    return lines


class _Reader:
    """Reads one block after the other. A block ends before a line that is indented otherwise."""

    def __init__(self, lines: List[_Line]) -> None:
        self._left = [_END, *reversed(lines)]

    @property
    def at_end(self) -> bool:
        """True when every line has been read."""
        return self._left[-1] is _END

    def mapping(self, indent: int, depth: int) -> Mapping:
        """The keys that stand at ``indent``, with all that is below them."""
        entries: Dict[str, Entry] = {}
        first = self._left[-1].number
        while self._left[-1].indent == indent:
            line = self._left.pop()
            pair = _pair(line.text)
            if pair is None or pair[0] in entries or depth > _DEEPEST:
                raise _NotPlain
            key, value = pair
            node = _value(value, line.number) if value else self._below(line, depth + 1)
            entries[key] = Entry(key, line.number, node)
        return Mapping(tuple(entries.values()), first)

    def _sequence(self, indent: int, depth: int) -> Sequence:
        """The list whose dashes stand at ``indent``."""
        items: List[Node] = []
        first = self._left[-1].number
        while self._left[-1].indent == indent and self._left[-1].text.startswith("- "):
            line = self._left.pop()
            text = line.text[1:].lstrip()
            if _pair(text) is None:
                items.append(_value(text, line.number))
            else:
                behind = indent + len(line.text) - len(text)
                self._left.append(_Line(line.number, behind, text))
                items.append(self.mapping(behind, depth + 1))
        return Sequence(tuple(items), first)

    def _below(self, key: _Line, depth: int) -> Node:
        """What belongs to a key that nothing stands behind. Dashes may stand right below it."""
        line = self._left[-1]
        if line.indent >= key.indent and line.text.startswith("- "):
            return self._sequence(line.indent, depth)
        if line.indent > key.indent:
            return self.mapping(line.indent, depth)
        return Scalar("", True, key.number)


def _pair(text: str) -> Optional[Tuple[str, str]]:
    """A plain key and what stands behind its colon; None when ``text`` is not of that form."""
    key, colon, value = text.partition(":")
    if not colon or not 0 < len(key) <= _LONGEST_KEY or key[0] == "-" or not _WORD.issuperset(key):
        return None
    return (key, value.strip()) if value[:1] in ("", " ") else None


def _value(text: str, number: int) -> Node:
    """A value that stands in one line."""
    opening, inside, closing = text[:1], text[1:-1], text[1:][-1:]
    if opening in ("'", '"'):
        if closing != opening or opening in inside or (opening == '"' and "\\" in inside):
            raise _NotPlain
        return Scalar(inside, False, number)
    parts = [part.strip() for part in inside.split(",")] if inside.strip() else []
    if opening == "[" and closing == "]":
        return Sequence(tuple(Scalar(_word(each), True, number) for each in parts), number)
    if opening == "{" and closing == "}":
        pairs = dict(filter(None, map(_pair, parts)))
        if len(pairs) != len(parts):  # one is none, or is given twice
            raise _NotPlain
        words = ((key, Scalar(_word(value), True, number)) for key, value in pairs.items())
        return Mapping(tuple(Entry(key, number, word) for key, word in words), number)
    if not (_starts(text) and _VALUE.issuperset(text)) or ": " in text or text[-1] == ":":
        raise _NotPlain
    return Scalar(text, True, number)


def _word(text: str) -> str:
    """``text``, when it may stand between brackets or braces as it is."""
    if not (_starts(text) and _INSIDE.issuperset(text)):
        raise _NotPlain
    return text


def _starts(text: str) -> bool:
    """True when ``text`` begins as nothing but a text can."""
    first, second = text[:1], text[1:2]
    return first == "/" or first in _WORD and (first != "-" or second in _WORD)
