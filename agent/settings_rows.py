"""Owns what a row of the table of settings is: one value, a section, or a list of sections."""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.settings_kinds import Kind

if TYPE_CHECKING:
    from typing import Any, Mapping, Tuple, Union

    from typing_extensions import TypeAlias

#: Seconds; bounds are easier to read in days.
DAY = 86400.0


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


#: The only one of its kind.
REQUIRED = Required()


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


Row: TypeAlias = "Union[Setting, Section, Records]"
