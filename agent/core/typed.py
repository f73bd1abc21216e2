"""Owns how values are declared: ``NamedTuple`` and ``IntEnum`` without the price of their modules.

Importing ``typing`` and ``enum`` takes longer than all the rest of a healthy ``check``. To a type
checker the names here are the originals; at run time they are as much of them as this program uses.
The modules that ``check`` loads take them from here, and the rest of ``typing`` only for the type
checker.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from enum import IntEnum as IntEnum
    from typing import Generic as Generic
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
else:
    from _collections import _tuplegetter  # what the fields of collections.namedtuple are made of

    class _Fields(type):
        """Makes the annotated names of a class body the fields of a tuple."""

        def __new__(cls, name, bases, body):
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            body.update((field, _tuplegetter(place, None)) for place, field in enumerate(fields))
            body.update(_fields=fields, _field_defaults=defaults, __slots__=())
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_Fields):
        """As ``typing.NamedTuple``."""

        def __new__(cls, *values, **named):
            fields = cls._fields
            if named or len(values) != len(fields):
                given = {**cls._field_defaults, **named}
                given.update(zip(fields, values))
                if len(given) != len(fields) or len(values) > len(fields):
                    raise TypeError(f"{cls.__name__} has the fields {', '.join(fields)}")
                values = map(given.__getitem__, fields)
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **named):
            made = tuple.__new__(self.__class__, map(named.pop, self._fields, self))
            if named:
                raise TypeError(f"{self.__class__.__name__} has no field {', '.join(named)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self))

        def __repr__(self):
            shown = (f"{field}={value!r}" for field, value in zip(self._fields, self))
            return f"{self.__class__.__name__}({', '.join(shown)})"

        def __getnewargs__(self):
            return tuple(self)

    class _Members(type):
        """Makes the numbers of a class body its members."""

        def __new__(cls, name, bases, body):
            numbers = {word: number for word, number in body.items() if word.isupper()}
            made = super().__new__(cls, name, bases, body)
            made.__members__ = {}
            for word, number in numbers.items():
                member = int.__new__(made, number)
                member.name, member.value = word, number
                made.__members__[word] = member
                setattr(made, word, member)
            return made

        def __iter__(cls):
            return iter(cls.__members__.values())

        def __getitem__(cls, word):
            return cls.__members__[word]

    class IntEnum(int, metaclass=_Members):
        """As ``enum.IntEnum``, with members in capitals."""

        def __new__(cls, number):
            for member in cls:
                if member == number:
                    return member
            raise ValueError(f"{number!r} is not a valid {cls.__name__}")

        def __repr__(self):
            return f"<{self.__class__.__name__}.{self.name}: {self.value}>"

    class Generic:
        """As ``typing.Generic``: what a class is generic over matters to the type checker alone."""

        def __class_getitem__(cls, _):
            return cls

    Protocol = Generic

    def TypeVar(name, **_):  # noqa: N802  it is named as the original
        return name
