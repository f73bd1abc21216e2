"""Owns the tree a configuration file is read into: texts with the lines they stand in."""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Tuple, Union

    from typing_extensions import TypeAlias


class Scalar(NamedTuple):
    """One text; ``plain`` when it was written without quotes."""

    text: str
    plain: bool
    line: int


class Entry(NamedTuple):
    """One key of a mapping and its value."""

    key: str
    line: int
    value: Node


class Mapping(NamedTuple):
    """Keys and values in the order of the file, without duplicates."""

    entries: Tuple[Entry, ...]
    line: int


class Sequence(NamedTuple):
    """A list."""

    items: Tuple[Node, ...]
    line: int


Node: TypeAlias = "Union[Scalar, Mapping, Sequence]"
