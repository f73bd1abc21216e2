"""Owns the packages under test: every test of this directory looks at the same ones."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import dist, needs

EPOCH = 1_767_225_600  # 2026-01-01


class Built(NamedTuple):
    """What ``make dist`` made."""

    dist: Path
    #: The unpacked content of the package for this machine.
    stage: Path
    deb: Path
    rpm: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The packages of this tree."""
    if platform.machine() not in ("x86_64", "AMD64"):
        needs.missing("the tools for packages are there for x86_64 only")
    target = tmp_path_factory.mktemp("built")
    directory = dist.build(dist.PROJECT, target, EPOCH)
    return Built(
        dist=directory,
        stage=target / "build" / "amd64",
        deb=next(directory.glob("*_amd64.deb")),
        rpm=next(directory.glob("*.x86_64.rpm")),
    )


@pytest.fixture(scope="session")
def older(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The same packages as an older version."""
    target = dist.build_older(built.stage, tmp_path_factory.mktemp("older"))
    return Built(
        dist=target,
        stage=target / "stage",
        deb=next(target.glob("*.deb")),
        rpm=next(target.glob("*.rpm")),
    )
