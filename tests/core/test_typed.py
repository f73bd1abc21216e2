"""Owns the proofs that values declared without ``typing`` and ``enum`` behave as with them."""

from __future__ import annotations

import copy
import enum
import json
import pickle
import typing
from typing import Any, Callable, Dict, List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import typed


class Ours(typed.NamedTuple):
    """A value."""

    name: str
    size: float = 1.5
    parts: Tuple[str, ...] = ()

    @property
    def double(self) -> float:
        return self.size * 2


class Theirs(typing.NamedTuple):
    """A value."""

    name: str
    size: float = 1.5
    parts: Tuple[str, ...] = ()

    @property
    def double(self) -> float:
        return self.size * 2


class OurLevel(typed.IntEnum):
    LOW = 0
    HIGH = 7

    @property
    def word(self) -> str:
        return self.name.lower()


class TheirLevel(enum.IntEnum):
    LOW = 0
    HIGH = 7

    @property
    def word(self) -> str:
        return self.name.lower()


#: Any: these are called with whatever a mistaken program might call them with.
TUPLES: Tuple[Any, Any] = (Ours, Theirs)
LEVELS: Tuple[Any, Any] = (OurLevel, TheirLevel)


def outcome(call: Callable[..., Any], *values: Any, **named: Any) -> object:
    """What a call comes to: its result as a plain value, or that it was refused."""
    try:
        result = call(*values, **named)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return AttributeError if isinstance(error, AttributeError) else ValueError
    return tuple(result) if isinstance(result, tuple) else result


_values = st.one_of(st.text(max_size=3), st.integers(), st.none())
_named = st.dictionaries(st.sampled_from([*Theirs._fields, "other"]), _values)


@given(st.lists(_values, max_size=4), _named)
def test_a_value_is_made_of_what_the_original_is_made_of(
    values: List[Any], named: Dict[str, Any]
) -> None:
    if set(Theirs._fields[: len(values)]) & set(named):
        return  # given twice: mypy's business, and not refused here
    ours, theirs = (outcome(each, *values, **named) for each in TUPLES)
    assert ours == theirs


@given(_named)
def test_a_value_is_changed_as_the_original_is(named: Dict[str, Any]) -> None:
    ours, theirs = (outcome(each("a")._replace, **named) for each in TUPLES)
    assert ours == theirs


def test_a_value_tells_of_itself_what_the_original_does() -> None:
    ours: Any = Ours("a", parts=("b",))
    theirs: Any = Theirs("a", parts=("b",))
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours._asdict() == theirs._asdict()
    assert Ours._fields == Theirs._fields
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours.__doc__ == Theirs.__doc__
    assert ours == theirs == ("a", 1.5, ("b",))
    assert hash(ours) == hash(theirs)
    assert json.dumps(ours) == json.dumps(theirs)
    assert ours.double == theirs.double


@pytest.mark.parametrize("name", ["name", "size", "other", "double"])
def test_a_value_cannot_be_written_to(name: str) -> None:
    for each in TUPLES:
        assert outcome(setattr, each("a"), name, 1) is AttributeError


def test_a_value_survives_being_copied_and_stored() -> None:
    value = Ours("a", parts=("b",))
    for again in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
        assert type(again) is Ours


@pytest.mark.parametrize("number", [0, 7, 1, -1, "LOW", None])
def test_a_member_is_found_by_its_number_as_in_the_original(number: object) -> None:
    ours, theirs = (outcome(each, number) for each in LEVELS)
    assert ours == theirs


@pytest.mark.parametrize("word", ["LOW", "HIGH", "low", "word", "name"])
def test_a_member_is_found_by_its_name_as_in_the_original(word: str) -> None:
    ours, theirs = (outcome(each.__getitem__, word) for each in LEVELS)
    assert ours == theirs
    assert (word in OurLevel.__members__) == (word in TheirLevel.__members__)


def test_members_tell_of_themselves_what_the_originals_do() -> None:
    pairs: List[Tuple[Any, Any]] = [*zip(OurLevel, TheirLevel)]
    assert len(pairs) == len(TheirLevel)
    for ours, theirs in pairs:
        assert ours == theirs
        assert (ours.name, ours.value, ours.word) == (theirs.name, theirs.value, theirs.word)
        assert repr(ours) == repr(theirs).replace("Their", "Our")
        assert json.dumps([ours]) == json.dumps([theirs])
        assert copy.deepcopy(ours) is pickle.loads(pickle.dumps(ours)) is ours
    assert max(OurLevel) is OurLevel.HIGH
