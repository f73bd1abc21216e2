"""Owns loading the configuration: a file becomes one valid ``Config``, or every reason why not.

The file is bounded before it is parsed, and PyYAML is only imported when it holds more than
comments: the packaged file does not, and ``clock-agent check`` pays for what it imports.
"""

from __future__ import annotations

import os
import stat

from agent.core.quantities import format_duration, parse_duration
from agent.core.settings import Config, ReferenceSettings
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.errors import ConfigError, ForbiddenConfig, UsageError

if TYPE_CHECKING:
    from typing import Optional, Tuple

    from agent.config_tree import Node

DEFAULT_PATH = "/etc/clock-agent/config.yaml"
#: Bytes. PyYAML reads about 100 KiB a second; a configuration is some 2 KiB.
MAX_SIZE = 256 * 1024


class Loaded(NamedTuple):
    """A valid configuration, and what about it or its surroundings deserves a warning."""

    config: Config
    #: One line each, in the form of a problem: ``FILE:LINE: KEY: what``.
    warnings: Tuple[str, ...] = ()


def load(path: Optional[str] = None) -> Loaded:
    """Read the configuration at ``path``; None means the default file, or defaults without one.

    Raises ConfigError with all problems at once.
    """
    try:
        raw, mode = _read(path or DEFAULT_PATH)
    except FileNotFoundError:
        if path is None:
            return Loaded(Config())
        raise ConfigError([f"{path}: no such file"]) from None
    except OSError as error:
        raise _unreadable(path or DEFAULT_PATH, error) from None
    source = path or DEFAULT_PATH
    text = _decode(source, raw)
    if not _has_content(text):
        return Loaded(Config(source=source))
    return _parse(source, text, bool(mode & stat.S_IROTH))


def override(
    config: Config,
    *,
    warning: Optional[str] = None,
    critical: Optional[str] = None,
    redis: Optional[str] = None,
) -> Config:
    """Return ``config`` with what the command line of ``check`` says instead.

    ``redis`` replaces all references by one, named by where it is. Raises UsageError.
    """
    policy = config.policy
    if warning is not None:
        policy = policy._replace(offset_warning=duration("--warning", warning))
    if critical is not None:
        policy = policy._replace(offset_critical=duration("--critical", critical))
    if policy.offset_warning >= policy.offset_critical:
        raise UsageError(
            f"the warning threshold {format_duration(policy.offset_warning)} is not below the"
            f" critical one {format_duration(policy.offset_critical)}",
            "give both --warning and --critical",
        )
    if redis is None:
        return config._replace(policy=policy)
    from agent.core.redis_url import parse_url

    parsed = parse_url(redis)
    if isinstance(parsed, str):
        raise UsageError(f"--redis: {parsed}")
    reference = ReferenceSettings(name=parsed.where, url=redis)
    return config._replace(policy=policy, references=(reference,))


def with_interval(config: Config, interval: Optional[str]) -> Config:
    """Return ``config`` with the interval that ``run`` was given; raises UsageError."""
    if interval is None:
        return config
    seconds = duration("--interval", interval)
    return config._replace(interval=seconds, confirm_interval=min(config.confirm_interval, seconds))


def duration(option: str, text: str) -> float:
    """Return the seconds an option of the command line says. Raises UsageError naming it."""
    """The seconds ``text`` names as the value of a command line ``option``; raises UsageError."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if not 0 < seconds <= 86400:
        raise UsageError(f"{option}: {text} is out of bounds; accepted is more than 0s, up to 1d")
    return seconds


def _read(path: str) -> Tuple[bytes, int]:
    """The bytes of a regular file of at most MAX_SIZE, and its mode."""
    # Without O_NONBLOCK, opening a FIFO waits for a writer that may never come.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ConfigError([f"{path}: is {what}; a configuration is a text file"])
        raw = b""
        while len(raw) <= MAX_SIZE and (chunk := os.read(descriptor, MAX_SIZE + 1)):
            raw += chunk
    finally:
        os.close(descriptor)
    if len(raw) > MAX_SIZE:
        raise ConfigError([f"{path}: is larger than {MAX_SIZE // 1024} KiB; it was not read"])
    return raw, status.st_mode


def _unreadable(path: str, error: OSError) -> ConfigError:
    problems = [f"{path}: {error.strerror or error}"]
    if isinstance(error, PermissionError):
        hint = "run as root, or add this user to the group that may read it"
        return ForbiddenConfig(problems, hint)
    return ConfigError(problems)


def _decode(path: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = f"{path}:{line}: is not UTF-8 (byte {raw[error.start]:#04x}); save it as UTF-8"
        raise ConfigError([problem]) from None


def _has_content(text: str) -> bool:
    """True when some line is more than a comment or blank."""
    return any(line and not line.startswith("#") for line in map(str.strip, text.splitlines()))


def _parse(source: str, text: str, world_readable: bool) -> Loaded:
    from agent.config_check import Checker
    from agent.yaml_tree import parse

    checker = Checker(source, world_readable)
    root: Optional[Node]
    root, oddities = parse(text)
    for line, key, what in oddities:
        checker.problem(line, key, what)
    if root is not None:
        config = checker.config(root)
    if checker.problems:
        raise ConfigError(checker.report())
    return Loaded(config if root is not None else Config(source=source), checker.warned())
