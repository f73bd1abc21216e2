"""What is in the packages, that it is always the same, and that it runs on every Python."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from tests.packages.conftest import EPOCH, Built
from tests.support import dist, needs

pytestmark = pytest.mark.timeout(600)
HERE = Path(__file__).parent
TRUSTED_PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


def pythons() -> List[Tuple[str, str]]:
    shown = subprocess.run(
        [str(dist.PROJECT / "tools" / "pythons")], capture_output=True, text=True, check=True
    ).stdout
    pairs = [(line.split()[0], line.split()[1]) for line in shown.splitlines()]
    return [pair for pair in pairs if pair[0] in TRUSTED_PYTHONS]


def listed(command: List[str]) -> List[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def without_byte_code(lines: List[str]) -> List[str]:
    return sorted(line for line in lines if "__pycache__" not in line)


def deb_files(path: Path) -> List[str]:
    """Mode, owner and name of every file."""
    fields = (line.split() for line in listed(["dpkg-deb", "--contents", str(path)]))
    return [f"{mode} {owner} {name[1:]}" for mode, owner, _, _, _, name, *_ in fields]


def rpm_files(path: Path) -> List[str]:
    form = (
        "[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES}\\n]"
    )
    return [" ".join(line.split()) for line in listed(["rpm", "-qp", "--qf", form, str(path)])]


@pytest.mark.parametrize("kind", ["deb", "rpm"])
def test_the_packages_hold_exactly_the_listed_files(built: Built, kind: str) -> None:
    """After a change on purpose: copy the list that the failure names over the checked-in one."""
    needs.program("rpm")
    found = deb_files(built.deb) if kind == "deb" else rpm_files(built.rpm)
    text = "\n".join(without_byte_code(found)) + "\n"
    wanted = HERE / f"files.{kind}"
    if not wanted.exists() or text != wanted.read_text("utf-8"):
        seen = built.stage.parent / wanted.name
        seen.write_text(text, "utf-8")
        subprocess.run(["diff", "-u", str(wanted), str(seen)], check=False)
        pytest.fail(f"the list differs from that in {seen}")


def test_both_architectures_differ_only_in_the_one_compiled_file(built: Built) -> None:
    trees: List[Dict[str, str]] = []
    for name in ("amd64", "arm64"):
        (path,) = built.dist.rglob(f"*_{name}.deb")
        sums = listed(["dpkg-deb", "--info", str(path), "md5sums"])
        trees.append({line.split()[1]: line.split()[0] for line in sums})
    names = {
        name
        for name in trees[0].keys() | trees[1].keys()
        if trees[0].get(name) != trees[1].get(name)
    }
    changed = {name for name in names if "dist-info" not in name}
    assert changed == {"usr/lib/clock-agent/vendor/psutil/_psutil_linux.abi3.so"}


def test_every_module_comes_with_byte_code_for_every_python_of_the_building_machine(
    built: Built,
) -> None:
    names = {line.split()[-1] for line in deb_files(built.deb)}
    versions = [version for version, _ in pythons()]
    for name in sorted(name for name in names if name.endswith(".py")):
        directory, _, module = name.rpartition("/")
        for version in versions:
            tag = f"cpython-{version.replace('.', '')}"
            assert f"{directory}/__pycache__/{module[:-3]}.{tag}.pyc" in names


def test_the_same_bytes_come_from_the_source_release_in_another_directory(
    built: Built, tmp_path: Path
) -> None:
    (sdist,) = built.dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()

    again = dist.build(source, tmp_path / "out", EPOCH)

    assert _content(again) == _content(built.dist)


def _content(directory: Path) -> Dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*.*")}


def test_what_lies_in_dist_is_for_this_machine(built: Built) -> None:
    """So that the command of the README, apt install ./dist/*.deb, means one package."""
    assert [path.name.rpartition("_")[2] for path in built.dist.glob("*.deb")] == ["amd64.deb"]
    assert len(list(built.dist.rglob("*.*"))) == 6


@pytest.mark.parametrize(("version", "python"), pythons())
def test_the_carried_tree_runs_on_every_python_with_warnings_as_errors(
    built: Built, version: str, python: str
) -> None:
    library = built.stage / "lib"
    modules = [
        str(path.relative_to(library).with_suffix("")).replace("/", ".").replace(".__init__", "")
        for path in sorted((library / "agent").rglob("*.py"))
        if path.name != "__main__.py"
    ]
    program = f"""
import sys
sys.path += [{str(library)!r}, {str(library / "vendor")!r}]
import importlib, psutil, statsd, yaml, sdnotify
for name in {modules!r}: importlib.import_module(name)
assert psutil.pids() and yaml.load("a: b", yaml.BaseLoader) == {{"a": "b"}}
assert all({str(library)!r} in sys.modules[m].__file__ for m in ("psutil", "statsd", "yaml"))
from agent.cli import main
sys.exit(main(["config", "sample"]))
"""
    done = subprocess.run(
        [python, "-W", "error", "-ISB", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "#interval: 5m" in done.stdout


def test_byte_code_is_used_and_not_compared_with_its_source(built: Built) -> None:
    library = built.stage / "lib"
    program = (
        "import sys; sys.path.append(sys.argv[1]); from agent import cli; print(cli.__cached__)"
    )
    version, python = pythons()[0]
    done = subprocess.run(
        [python, "-ISBv", "-c", program, str(library)], capture_output=True, text=True, check=True
    )
    assert f"cpython-{version.replace('.', '')}.pyc" in done.stdout
    assert re.search(r"code object from .*agent/__pycache__/cli", done.stderr)
    assert (library / "agent" / "__pycache__").is_dir()


def test_the_packages_are_what_lintian_wants(built: Built) -> None:
    done = subprocess.run(
        [needs.program("lintian"), "--allow-root", "--fail-on", "error,warning"]
        + sorted(map(str, built.dist.rglob("*.deb"))),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_packages_are_what_rpmlint_wants(built: Built) -> None:
    config = str(dist.PROJECT / "packaging" / "rpmlint.toml")
    done = subprocess.run(
        [needs.program("rpmlint"), "--config", config]
        + sorted(map(str, built.dist.rglob("*.rpm"))),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "0 errors, 0 warnings" in done.stdout, done.stdout


def test_the_manual_pages_have_no_mistakes(built: Built, tmp_path: Path) -> None:
    needs.program("groff")
    for name in ("clock-agent.8", "clock-agent.yaml.5"):
        page = subprocess.run(
            ["gzip", "-dc", str(built.stage / f"{name}.gz")], capture_output=True, check=True
        ).stdout
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=page, capture_output=True, check=False
        )
        assert done.stderr == b""
        assert done.stdout.decode().startswith("CLOCK-AGENT")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["clock-agent", ""], ["check", "config", "run"]),
        (["clock-agent", "ch"], ["check"]),
        (["clock-agent", "config", ""], ["check", "sample", "show"]),
        (["clock-agent", "check", "--fail"], ["--fail-on"]),
        (["clock-agent", "check", "--fail-on", ""], ["critical", "warning"]),
    ],
)
def test_the_shell_completes_commands_options_and_words(
    built: Built, line: List[str], offered: List[str]
) -> None:
    words = " ".join(f"'{word}'" for word in line)
    script = f"""
source {built.stage / "clock-agent.bash"}
COMP_WORDS=({words}) COMP_CWORD={len(line) - 1}
_clock_agent clock-agent '{line[-1]}' ''
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert [word for word in sorted(done.stdout.split()) if word in offered] == offered


def test_the_shell_scripts_of_the_packages_are_clean() -> None:
    needs.program("shellcheck")
    scripts = sorted(str(path) for path in (dist.PROJECT / "packaging" / "deb").iterdir())
    subprocess.run(["shellcheck", *scripts], check=True)
    for path in sorted((dist.PROJECT / "packaging" / "rpm").iterdir()):
        subprocess.run(["shellcheck", "--shell=sh", str(path)], check=True)


def test_the_unit_is_sound_and_closed(tmp_path: Path) -> None:
    needs.program("systemd-analyze")
    unit = dist.PROJECT / "systemd" / "clock-agent.service"
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=16", str(unit)],
        env={**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-200:]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "is not executable" not in line]
    assert complaints == []


def test_the_shipped_configuration_stays_as_it_was_first_shipped() -> None:
    """Else dpkg asks about it wherever it was edited, and without a terminal the upgrade fails."""
    shipped = (dist.PROJECT / "packaging" / "config.yaml").read_bytes()
    assert hashlib.sha256(shipped).hexdigest() == (
        "7a079a693b1e70d11b04a962d68d9b985470eb216bdbdc80067d142426ade953"
    )


def test_the_launcher_is_the_interpreter_line_the_fast_path_counts_on(built: Built) -> None:
    launcher = (built.stage / "clock-agent").read_text("utf-8")
    assert launcher.startswith("#!/usr/bin/python3 -ISB\n")
    assert sys.version_info >= (3, 9)
