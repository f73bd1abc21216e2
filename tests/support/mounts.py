"""Owns small file systems for tests: one that fills up, and one that turns read-only by itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Iterator

from tests.support import needs


@contextlib.contextmanager
def tmpfs(place: Path, size: int) -> Iterator[Path]:
    """A file system of ``size`` bytes in memory, mounted on the new directory ``place``."""
    needs.root()
    with _mounted(place, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        yield place


@contextlib.contextmanager
def ext4(place: Path) -> Iterator[Path]:
    """A small ext4 that the kernel turns read-only at the first error, on the new ``place``."""
    needs.root()
    image = place.with_name(place.name + ".img")
    with image.open("wb") as file:
        file.truncate(8 * 1024 * 1024)
    subprocess.run([needs.program("mke2fs"), "-q", "-t", "ext4", image], check=True)
    with _mounted(place, "-o", "loop,errors=remount-ro", str(image)):
        yield place


def remount(place: Path, how: str) -> None:
    """Remount ``place`` as ``ro`` or ``rw``."""
    subprocess.run(["mount", "-o", f"remount,{how}", place], check=True)


def break_down(place: Path) -> None:
    """Let the kernel find an error on the ext4 at ``place``: it is read-only from then on."""
    device = os.path.basename(
        subprocess.run(
            ["findmnt", "-n", "-o", "SOURCE", place], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    with contextlib.suppress(OSError):  # the report of the error is an error
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")


def fill(place: Path) -> Path:
    """Use up every byte that is left on ``place``; removing the returned file frees it all."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4096, 512):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    return ballast


@contextlib.contextmanager
def _mounted(place: Path, *arguments: str) -> Iterator[None]:
    place.mkdir()
    done = subprocess.run(["mount", *arguments, place], capture_output=True, text=True)
    if done.returncode != 0:
        needs.missing(f"mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)
