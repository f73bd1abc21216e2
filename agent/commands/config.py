"""Owns ``clock-agent config``: say whether a file is valid, what is in force, or print a sample."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Optional

from agent import config as configuration

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions of ``config``."""
    parser.add_argument(
        "action",
        choices=("check", "show", "sample"),
        help="check: say every problem of the file; show: print what is in force, secrets hidden; "
        "sample: print a file with every key, its default and its meaning",
    )


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Do the action and return 0. Raises ConfigError when the file cannot be used."""
    from agent import settings_text

    if arguments.action == "sample":
        sys.stdout.write(settings_text.sample())
        return 0
    loaded = configuration.load(config_path)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    source = loaded.config.source
    if arguments.action == "show":
        sys.stdout.write(settings_text.show(loaded.config))
    elif source is None:
        print(f"{configuration.DEFAULT_PATH}: not there; the built-in defaults are in force")
    else:
        print(f"{source}: valid")
    return 0
