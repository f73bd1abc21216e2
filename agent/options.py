"""Owns the options of ``check`` as a table: for argparse, and for reading them without it.

argparse takes longer (12 ms) than asking chronyd, systemd and Redis. So a call that is written
plainly is read here; any other (abbreviated, wrong, asking for help) is left to argparse, which
knows what to say.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from typing import Any, Dict, Optional, Sequence, Tuple


DEFAULT_CONFIG = "/etc/clock-agent/config.yaml"


class Option(NamedTuple):
    """One option. Without ``metavar`` and ``choices`` it is a switch, which takes no value."""

    flag: str
    help: str
    #: What kind of value it takes.
    metavar: Optional[str] = None
    #: The only values it takes.
    choices: Optional[Tuple[str, ...]] = None
    default: Optional[str] = None

    @property
    def name(self) -> str:
        """Its attribute of ``Arguments``."""
        return self.flag[2:].replace("-", "_")

    @property
    def switch(self) -> bool:
        """True when it is either given or not."""
        return self.metavar is None and self.choices is None


#: What may stand before the verb.
PROGRAM = (
    Option(
        "--config",
        f"configuration file (default: {DEFAULT_CONFIG} if it exists)",
        metavar="FILE",
    ),
)


class Arguments:
    """A command line taken apart: an attribute for each option, and ``verb``."""

    def __init__(self, **values: Any) -> None:  # Any: texts and truths, as the options say
        self.__dict__.update(values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def declare(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    """Tell argparse of ``options``."""
    for option in options:
        if option.switch:
            parser.add_argument(option.flag, action="store_true", help=option.help)
        else:
            parser.add_argument(
                option.flag,
                help=option.help,
                metavar=option.metavar,
                choices=option.choices,
                default=option.default,
            )


def read(words: Sequence[str], options: Sequence[Option]) -> Optional[Dict[str, Any]]:
    """The values of all ``options`` by name, as argparse would read ``words``.

    None when not every word is plainly an option or its value.
    """
    values: Dict[str, Any] = {o.name: False if o.switch else o.default for o in options}
    by_flag = {option.flag: option for option in options}
    waiting = list(reversed(words))
    while waiting:
        flag, equals, value = waiting.pop().partition("=")
        option = by_flag.get(flag)
        if option is None or (option.switch and equals):
            return None
        if option.switch:
            values[option.name] = True
            continue
        if not equals and waiting:
            value = waiting.pop()
        if not value or (not equals and value.startswith("-")):
            return None
        if option.choices and value not in option.choices:
            return None
        values[option.name] = value
    return values
