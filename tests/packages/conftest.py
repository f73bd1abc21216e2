"""Owns the packages under test: every test of this directory looks at the same ones."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

from tests.support import dist, needs
from tests.support.debian_root import plain_root
from tests.support.nspawn import Machine
from tests.support.pod import IMAGE
from tests.support.recipes import SHARED, STATES, Node, State, recipes_root

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


@pytest.fixture(scope="session")
def node(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A booted machine with the package and everything that docs/health-probes.md is about."""
    shared = tmp_path_factory.mktemp("recipes")
    binds = {"/packages": built.dist, SHARED: shared, IMAGE: plain_root()}
    machine = Machine(tmp_path_factory.mktemp("nspawn") / "console.log", recipes_root(), binds)
    try:
        machine.must(f"dpkg -i /packages/{built.deb.name}", timeout=120)
        yield Node(machine, shared)
    finally:
        machine.stop()


@pytest.fixture(scope="module", params=STATES)
def state_name(request: pytest.FixtureRequest) -> str:
    """One state after the other; all tests of one state of a module come together."""
    return str(request.param)


@pytest.fixture
def state(node: Node, state_name: str) -> State:
    """The clock in one of its states."""
    return node.be(state_name)
