"""Owns the rules of the tree: who may import whom, how big a module gets, what `check` may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List, Mapping, NamedTuple, Set, Tuple

import pytest

from agent import clock
from agent.publish import Publisher
from tests.support.fakes import Chronyc, process_named, systemctl
from tests.support.redis_proxy import FakeRedis

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "agent"
MODULE_LINES = 300
FUNCTION_LINES = 50

#: Every family of modules, lowest first. A family imports itself and what `MAY_IMPORT` adds.
FAMILIES: Mapping[str, Tuple[str, ...]] = {
    "core": ("agent.core",),
    "ground": (
        "agent",
        "agent.clock",
        "agent.errors",
        "agent.host",
        "agent.lean",
        "agent.log",
        "agent.options",
        "agent.processes",
        "agent.published",
        "agent.resolve",
        "agent.secret_file",
        "agent.spawn",
        "agent.tree",
        "agent.wakeup",
        "agent.zones",
    ),
    "probes": ("agent.probes",),
    "http": ("agent.http_post", "agent.http_receiver"),
    "sinks": ("agent.sinks",),
    "store": ("agent.store",),
    "metrics": ("agent.metrics", "agent.datagrams", "agent.statsd_lines"),
    "publish": ("agent.publish",),
    "notify": ("agent.notify",),
    "config": (
        "agent.config",
        "agent.config_build",
        "agent.config_check",
        "agent.config_tree",
        "agent.settings_kinds",
        "agent.settings_lists",
        "agent.settings_rows",
        "agent.settings_table",
        "agent.settings_text",
        "agent.yaml_tree",
    ),
    "gather": ("agent.gather",),
    "delivery": ("agent.delivery",),
    "cycle": ("agent.cycle",),
    "daemon": ("agent.daemon",),
    "commands": ("agent.commands",),
    "cli": ("agent.cli", "agent.__main__"),
}
_GROUND = {"core", "ground"}
_ADAPTERS = {"probes", "sinks", "store", "metrics", "publish", "notify"}
_CONDUCTED = _GROUND | _ADAPTERS | {"config", "gather", "delivery"}
MAY_IMPORT: Mapping[str, Set[str]] = {
    "core": set(),
    "ground": {"core"},
    "http": _GROUND,
    **dict.fromkeys(_ADAPTERS, _GROUND),
    "sinks": _GROUND | {"http"},
    "config": _GROUND | {"sinks"},
    "gather": _GROUND | {"probes"},
    "delivery": _GROUND | {"sinks", "store"},
    "cycle": _CONDUCTED,
    "daemon": _CONDUCTED | {"cycle"},
    "commands": _CONDUCTED | {"cycle", "daemon"},
    "cli": _CONDUCTED | {"commands"},
}
#: Families whose members stand alone: each is one way of doing the same thing.
STAND_ALONE = {"probes", "sinks", "commands"}

#: All of the standard library that judgement needs: nothing that reads, waits or looks at a clock.
PURE = {
    "__future__",
    "_collections",
    "bisect",
    "calendar",
    "collections",
    "enum",
    "functools",
    "heapq",
    "itertools",
    "math",
    "time",  # only to write times down: see PURE_TIME
    "typing",
    "typing_extensions",  # known to type checkers without being installed
    "zlib",
}
PURE_TIME = {"gmtime", "strftime"}

#: What a `check` that measures imports at its start: each of them costs milliseconds.
HEAVY = {
    "argparse",
    "dataclasses",
    "json",
    "logging",
    "pathlib",
    "psutil",
    "re",
    "shutil",
    "ssl",
    "statsd",
    "subprocess",
    "tempfile",
    "yaml",
}
#: What a healthy `check --live` does not load, neither itself nor through another module.
NOT_WHEN_WELL = HEAVY | {
    "collections",
    "contextlib",
    "enum",
    "functools",
    "importlib",
    "operator",
    "signal",
    "socket",
    "threading",
    "types",
    "typing",
    "warnings",
    "agent.core.disagreement",
    "agent.core.drift",
    "agent.core.files",
    "agent.core.forecast",
    "agent.core.steps",
    "agent.core.unitfiles",
    "agent.published",
    "agent.tree",
    "agent.yaml_tree",
}
LIGHT = ("agent.core", "agent.probes", "agent.cli", "agent.commands.check", "agent.gather")
#: Imported themselves only where they are used.
LAZY = {"agent.probes.redis_tls"}
LIGHT_GROUND = tuple(name for name in FAMILIES["ground"] if name != "agent")


class Import(NamedTuple):
    """One import statement, resolved to the module it names."""

    module: str
    line: int
    #: Runs whenever the importing module is imported.
    at_start: bool


def modules() -> Iterator[Tuple[str, Path]]:
    """Every module of the program by its dotted name."""
    for path in sorted(TREE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())
each_module = pytest.mark.parametrize("name", MODULES)


def syntax(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text("utf-8"))


def imports(name: str) -> Iterator[Import]:
    """All imports of a module, wherever they stand; `from x import y` names x.y if it exists."""
    for node, at_start in _statements(syntax(name), at_start=True):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, at_start)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: write the import in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                target = inner if inner in MODULES else str(node.module)
                yield Import(target, node.lineno, at_start)


def _statements(node: ast.AST, *, at_start: bool) -> Iterator[Tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        later = isinstance(child, (ast.FunctionDef, ast.Lambda)) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        )
        yield child, at_start
        yield from _statements(child, at_start=at_start and not later)


def family(name: str) -> str:
    """The family a module belongs to: that of its own name, or of the package it is in."""
    while name:
        for title, members in FAMILIES.items():
            if name in members and (name != "agent" or title == "ground"):
                return title
        name = name.rpartition(".")[0]
        if name == "agent":
            break
    raise AssertionError("give the new module a family in tests/test_layout.py")


@each_module
def test_imports_point_one_way(name: str) -> None:
    allowed = MAY_IMPORT[family(name)] | {family(name)}
    for found in imports(name):
        if found.module in MODULES:
            assert family(found.module) in allowed, f"{name}:{found.line}: {found.module}"


def member(name: str) -> str:
    """Which way of doing it a module belongs to: redis_tls is a part of redis."""
    return name.rpartition(".")[2].partition("_")[0]


@each_module
def test_members_that_stand_alone_do_not_import_each_other(name: str) -> None:
    own = family(name)
    if own in STAND_ALONE:
        (package,) = FAMILIES[own]
        for found in imports(name):
            beside = found.module.startswith(package + ".")
            assert not beside or member(found.module) == member(name), (
                f"{name}:{found.line}: {found.module}"
            )


@each_module
def test_the_core_is_pure(name: str) -> None:
    if family(name) != "core":
        return
    for found in imports(name):
        pure = found.module in MODULES or found.module.partition(".")[0] in PURE
        assert pure, f"{name}:{found.line}: {found.module}"
    for node in ast.walk(syntax(name)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            pure = node.value.id != "time" or node.attr in PURE_TIME
            assert pure, f"{name}:{node.lineno}: time.{node.attr}"
        if isinstance(node, ast.Name):
            assert node.id not in {"open", "print", "input"}, f"{name}:{node.lineno}: {node.id}"


@each_module
def test_what_check_imports_is_light(name: str) -> None:
    if name in LAZY or (not name.startswith(LIGHT) and name not in LIGHT_GROUND):
        return
    for found in imports(name):
        heavy = found.at_start and (found.module.partition(".")[0] in HEAVY or found.module in LAZY)
        assert not heavy, f"{name}:{found.line}: import {found.module} where it is used"


@each_module
def test_a_module_says_what_it_owns_and_stays_small(name: str) -> None:
    assert (ast.get_docstring(syntax(name)) or "").strip()
    assert len(MODULES[name].read_text("utf-8").splitlines()) <= MODULE_LINES


@each_module
def test_a_function_fits_on_a_screen(name: str) -> None:
    for node in ast.walk(syntax(name)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= FUNCTION_LINES, f"{name}:{node.lineno}: {node.name}, {lines} lines"


def test_a_published_verdict_is_answered_without_any_heavy_import(tmp_path: Path) -> None:
    valid_until = int((clock.boottime() + 600) * 1e9)
    assert (
        Publisher(str(tmp_path)).publish(1, "CLOCK WARNING - so it is\n", valid_until, {}) is None
    )
    words, status = ["check"], str(tmp_path / "status")
    told, loaded = loaded_by(f"from agent.cli import main; main({words!r}, {status!r})")
    assert told == ["CLOCK WARNING - so it is"]
    assert not loaded & (HEAVY | {"typing", "socket", "threading", "enum"})


def test_a_live_check_of_a_healthy_host_loads_next_to_nothing(tmp_path: Path) -> None:
    chronyc = Chronyc(tmp_path / "fakes")
    with FakeRedis() as redis, process_named("chronyd", tmp_path) as pid:
        # as `check --live --redis URL` does, which finds the programs by their names
        told, loaded = loaded_by(f"""
from agent.commands.check import measure
from agent.core import report
from agent.core.settings import ChronySettings, Config, ReferenceSettings, ServiceSettings
config = Config(
    chrony=ChronySettings(program={chronyc.path!r}),
    service=ServiceSettings(program={systemctl(tmp_path, pid)!r}),
    references=(ReferenceSettings(name="locks", url={redis.url!r}),),
)
sys.stdout.write(report.text(measure(config, {clock.monotonic() + 60})))
""")
    assert told[0].startswith("CLOCK OK - "), told
    assert not loaded & NOT_WHEN_WELL


def test_a_plainly_written_call_of_check_loads_no_argparse() -> None:
    words = ["check", "--redis", "nonsense"]
    told, loaded = loaded_by(f"from agent.cli import main; main({words!r})")
    assert told[0].startswith("CLOCK UNKNOWN - --redis"), told
    assert not loaded & (HEAVY | {"typing", "threading", "enum"})


def loaded_by(code: str) -> Tuple[List[str], Set[str]]:
    """What ``code`` prints in a bare interpreter, and the modules it has loaded then."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
{code}
print(*sorted(sys.modules))
"""
    answer = subprocess.run(
        [sys.executable, "-ISB", "-c", program], capture_output=True, text=True, check=True
    )
    *told, loaded = answer.stdout.splitlines()
    return told, set(loaded.split())
