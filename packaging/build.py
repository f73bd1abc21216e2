"""Owns ``make dist``: sdist, wheel, .deb and .rpm, with the same bytes from any directory.

Everything is staged first, with the date of the commit on every file. The packages hold the program
with the packages it needs, and byte code for every Python they may meet that this machine has.
"""

from __future__ import annotations

import gzip
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Iterable, Mapping

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))
sys.dont_write_bytecode = True

import documents  # noqa: E402  # beside this file

from agent import __version__, settings_text  # noqa: E402

HERE = PROJECT / "packaging"
#: Debian's name of an architecture -> the kernel's, which wheels have in their names.
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
#: Those of every distribution with systemd 249 or later, at their release or later.
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
#: What of the carried packages is never imported on Linux.
UNUSED = re.compile(
    r"(^|/)(_yaml|tests|bin)/|(^|/)tests\.py$|statsd/defaults/django\.py$|\.pyi$|\.so$"
    r"|psutil/_ps(aix|bsd|osx|sunos|windows)\.py$"
)
EXTENSION = "psutil/_psutil_linux.abi3.so"
TREES = ("agent", "bench", "docs", "packaging", "requirements", "systemd", "tests", "tools", ".ci")


def main(target: Path) -> None:
    """Build everything into ``dist`` under ``target``, replacing what was there."""
    os.umask(0o022)
    epoch = _epoch()
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    output, work = target / "dist", target / "build"
    for directory in (output, work):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    source = _source(work / "source", epoch)
    _python_packages(source, output, epoch)
    for architecture, machine in ARCHITECTURES.items():
        stage = work / architecture
        _stage(source, stage, architecture, epoch)
        # So that "apt install ./dist/*.deb" finds the one for this machine.
        here = machine == platform.machine()
        _package(stage, output if here else output / architecture, architecture)
    for made in sorted(path for path in output.rglob("*") if path.is_file()):
        print(f"{made.stat().st_size / 1024:8.0f} KiB  {made.relative_to(target)}")


def _epoch() -> int:
    """The date that everything carries: that of the commit, or of the source release."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    if (PROJECT / ".git").exists():
        return int(_run("git", "log", "-1", "--pretty=%ct"))
    return int((PROJECT / "pyproject.toml").stat().st_mtime)


def _run(*command: str, cwd: Path = PROJECT, environment: Mapping[str, str] = {}) -> str:
    """Run a command that must succeed; its standard output."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _source(target: Path, epoch: int) -> Path:
    """A copy of the files that belong to the project, without anything built or cached."""
    if (PROJECT / ".git").exists():
        names = _run("git", "ls-files", "-z", "-co", "--exclude-standard").split("\0")
    else:  # from a source release, which holds nothing else
        names = [str(path.relative_to(PROJECT)) for path in _source_release()]
    for name in filter(None, names):
        if (PROJECT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, target / name)
    _date(target, epoch)
    return target


def _source_release() -> Iterable[Path]:
    for path in PROJECT.iterdir():
        if path.is_file() and path.name not in ("PKG-INFO", "setup.cfg"):
            yield path
        elif path.name in TREES:
            yield from (p for p in path.rglob("*") if p.is_file() and p.suffix != ".pyc")


def _date(tree: Path, epoch: int) -> None:
    for path in (tree, *tree.rglob("*")):
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def _python_packages(source: Path, output: Path, epoch: int) -> None:
    """The sdist and the wheel. setuptools dates the wheel itself, but not the sdist."""
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output), cwd=source)
    shutil.rmtree(source / "build", ignore_errors=True)
    for made in output.glob("*.tar.gz"):
        content = io.BytesIO()
        with tarfile.open(made) as old, tarfile.open(fileobj=content, mode="w") as new:
            for member in sorted(old.getmembers(), key=lambda member: member.name):
                member.mtime, member.uid, member.gid = epoch, 0, 0
                member.uname, member.gname, member.pax_headers = "root", "root", {}
                member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
                new.addfile(member, old.extractfile(member) if member.isfile() else None)
        made.write_bytes(_gzipped(content.getvalue()))


def _stage(source: Path, stage: Path, architecture: str, epoch: int) -> None:
    """All files that ``nfpm.yaml`` names, for one architecture."""
    library = stage / "lib"
    vendor = library / "vendor"
    shutil.copytree(source / "agent", library / "agent")
    _vendor(vendor, ARCHITECTURES[architecture])
    licences = _licences(vendor)
    _trim(vendor)
    _byte_code(library)
    for tree in ("deb", "rpm"):
        shutil.copytree(source / "packaging" / tree, stage / tree)
    for name in (
        "packaging/clock-agent",
        "packaging/config.yaml",
        "packaging/lintian-overrides",
        "README.md",
        *(f"docs/{page.name}" for page in (source / "docs").iterdir()),
        *(f"systemd/{unit.name}" for unit in (source / "systemd").iterdir()),
    ):
        shutil.copy(source / name, stage)
    users = (stage / "clock-agent.sysusers").read_text().splitlines()
    pre = (stage / "rpm" / "pre").read_text()
    user = next(line for line in users if line.startswith("u "))
    (stage / "rpm" / "pre").write_text(pre.replace("@SYSUSERS@", user))
    day = time.strftime("%Y-%m-%d", time.gmtime(epoch))
    _write(stage / "copyright", (source / "packaging/copyright").read_text() + licences)
    _write(stage / "changelog.yaml", _package_changelog(epoch))
    _write(stage / "config.sample.yaml", settings_text.sample())
    _write(stage / "clock-agent.bash", documents.completion())
    for name, text in (
        ("clock-agent.8", documents.manual(day, __version__)),
        ("clock-agent.yaml.5", documents.reference(day, __version__)),
        ("changelog", (source / "CHANGELOG.md").read_text()),
    ):
        (stage / f"{name}.gz").write_bytes(_gzipped(text.encode()))
    _modes(stage)
    _date(stage, epoch)


def _vendor(target: Path, machine: str) -> None:
    """The carried packages, each exactly the pinned file."""
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    install += ["--no-deps", "--no-compile", "--require-hashes", "--target", str(target)]
    wheels = ["--only-binary=:all:", "--python-version=3.9", "--implementation=cp"]
    wheels += [f"--abi={abi}" for abi in ("cp39", "abi3", "none")]
    wheels += [f"--platform={name}_{machine}" for name in ("manylinux2014", "manylinux_2_28")]
    _run(*install, *wheels, "--requirement", str(HERE / "vendor.txt"))
    source = ["--no-build-isolation", "--use-pep517", "--no-binary=:all:"]
    _run(*install, *source, "--requirement", str(HERE / "vendor-source.txt"))


def _licences(vendor: Path) -> str:
    """The licence text of every carried package, as Debian's machine-readable format wants it."""
    texts = []
    for metadata in sorted(vendor.glob("*.dist-info/METADATA")):
        headers = metadata.read_text("utf-8").split("\n\n")[0]
        name = re.findall(r"(?m)^Name: (.*)", headers)[0]
        (licence,) = sorted(metadata.parent.rglob("LICEN[CS]E*"))
        body = "\n".join(
            f" {line}".rstrip() or " ." for line in licence.read_text("utf-8").strip().splitlines()
        ).replace("\n\n", "\n .\n")
        holders = re.findall(r"(?mi)^ *(copyright .*?)\.?$", body) or ["see the licence"]
        directory = {"PyYAML": "yaml"}.get(name, name)
        texts.append(
            f"\nFiles: usr/lib/clock-agent/vendor/{directory}/*\n"
            f"Copyright: {holders[0]}\nLicense: {name}-licence\n{body}\n"
        )
    return "".join(texts)


def _trim(vendor: Path) -> None:
    """Leave what is imported, and METADATA, by which scanners know a package and its version."""
    for path in sorted(vendor.rglob("*"), reverse=True):
        name = str(path.relative_to(vendor))
        inside = ".dist-info" in name
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.name != "METADATA" if inside else UNUSED.search(name) and name != EXTENSION:
            path.unlink()


def _byte_code(library: Path) -> None:
    """Byte code that is never checked against its source: both always come and go together."""
    found = dict(line.split() for line in _run(str(PROJECT / "tools" / "pythons")).splitlines())
    missing = [version for version in PYTHONS if version not in found]
    if missing:
        print(f"No byte code for Python {', '.join(missing)}: not here. It starts slower there.")
    compile_tree = (
        "import compileall, py_compile, sys; sys.exit(not compileall.compile_dir(sys.argv[1],"
        " quiet=1, stripdir=sys.argv[1], prependdir='/usr/lib/clock-agent',"
        " invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH))"
    )
    for version in set(PYTHONS) - set(missing):
        # A set's order would show in the bytes; -I would ignore the variable that fixes it.
        _run(
            found[version],
            "-S",
            "-c",
            compile_tree,
            str(library),
            cwd=library,
            environment={"PYTHONHASHSEED": "0"},
        )


def _package_changelog(epoch: int) -> str:
    """What both kinds of packages want to know of their own history; ours is in CHANGELOG.md."""
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    return (
        f"- semver: {__version__}-1\n  date: {date}\n"
        "  packager: clock-agent maintainers <maintainers@clock-agent.example>\n"
        "  deb: {urgency: medium, distributions: [stable]}\n"
        "  changes: [{note: What changed is in changelog.gz beside this file.}]\n"
    )


def _modes(stage: Path) -> None:
    for path in stage.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.name == "clock-agent" else 0o644)


def _package(stage: Path, output: Path, architecture: str) -> None:
    output.mkdir(exist_ok=True)
    nfpm = str(Path(sys.executable).with_name("nfpm"))
    environment = {"ARCH": architecture, "VERSION": __version__}
    shutil.copy(HERE / "nfpm.yaml", stage)
    for kind in ("deb", "rpm"):
        _run(
            nfpm,
            "package",
            "--packager",
            kind,
            "--target",
            str(output),
            cwd=stage,
            environment=environment,
        )


def _gzipped(content: bytes) -> bytes:
    """Compressed, without a date or a name."""
    return gzip.compress(content, 9, mtime=0)


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else PROJECT)
