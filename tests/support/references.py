"""Owns reading a reference in tests, and saying what is expected of the outcome."""

from __future__ import annotations

from typing import Any

from agent.core.model import Miss, Observation, Reading
from agent.core.settings import ReferenceSettings
from agent.probes.redis import RedisProbe

#: Seconds beyond a deadline that a busy machine may need.
SLACK = 1.0
#: A password with everything that has to be encoded in a URL, and how it then looks.
PASSWORD = "S3cr€t/@:#"
ENCODED = "S3cr%E2%82%ACt%2F%40%3A%23"


def read(url: str, **settings: Any) -> Observation:  # Any: whatever fields the settings have
    """One reading of a reference called ``locks``."""
    return RedisProbe(ReferenceSettings(name="locks", url=url)._replace(**settings)).read()


def good(observation: Observation) -> Reading:
    """The reading that ``observation`` must be."""
    assert isinstance(observation, Reading), observation
    return observation


def missed(observation: Observation, *causes: str) -> Miss:
    """The miss with one of these causes that ``observation`` must be, fit to be shown to people."""
    assert isinstance(observation, Miss), observation
    assert observation.cause in causes, observation
    assert observation.source == "locks"
    assert observation.advice
    assert all(text.isprintable() for text in (observation.what, *observation.advice))
    return observation


def free_of_secrets(miss: Miss) -> None:
    """Nothing tells ``PASSWORD`` or the first half of it: plain, encoded or escaped."""
    assert "S3c" not in repr(miss) + repr(miss.detail)
