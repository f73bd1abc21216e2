"""The published status: what may be believed, and that nothing else ever is."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import published
from agent.publish import Publisher
from tests.support import needs

BOOT = "0c5d9bb5-2c1e-4a43-a6ac-53b1f2f0e0aa"
NOW = 1_000 * 10**9
UNTIL = NOW + 310 * 10**9
TEXT = "CLOCK OK - +0.013 ms ahead (fast) | offset=0.013ms\nsync: ok\n"
GOOD = published.encode(0, TEXT, UNTIL, BOOT)
OURSELVES = (os.geteuid(),)


def believed(path: Path, **changes: object) -> object:
    arguments = {"boottime_ns": NOW, "boot_id": BOOT, "trusted_uids": OURSELVES, **changes}
    return published.read(str(path), **arguments)  # type: ignore[arg-type]


@pytest.fixture
def status(tmp_path: Path) -> Path:
    assert Publisher(str(tmp_path), BOOT).publish(0, TEXT, UNTIL, {"schema": 1}) is None
    return tmp_path / "status"


def test_what_is_published_is_read_back(status: Path) -> None:
    assert believed(status) == (0, TEXT)
    assert (status.parent / "status.json").read_text() == '{"schema": 1}\n'


def test_the_first_line_is_the_documented_one(status: Path) -> None:
    first = status.read_text().splitlines()[0].split()
    assert first[:5] == ["clock-agent-status", "1", "0", str(UNTIL), BOOT]
    assert abs(int(first[5]) - published.booted()) < published.MAX_MOVED_NS
    assert first[6] == str(len(TEXT))


def test_everybody_may_read_it_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        Publisher(str(tmp_path), BOOT).publish(0, TEXT, UNTIL, {})
    finally:
        os.umask(before)
    for name in ("status", "status.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o644


@given(
    position=st.integers(0, len(GOOD) - 1), damage=st.integers(1, 255), end=st.integers(0, 10_000)
)
def test_no_damaged_byte_and_no_torn_file_is_believed(position: int, damage: int, end: int) -> None:
    flipped = bytearray(GOOD)
    flipped[position] ^= damage
    assert published.decode(bytes(flipped), NOW, BOOT) is None
    assert published.decode(GOOD[: end % len(GOOD)], NOW, BOOT) is None
    assert published.decode(GOOD + bytes(flipped[:1]), NOW, BOOT) is None


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_not_believed(content: bytes) -> None:
    assert published.decode(content, NOW, BOOT) is None
    assert published.decode(b"clock-agent-status 1 0 " + content, NOW, BOOT) is None


@given(
    exit_code=st.integers(0, 3),
    text=st.text(max_size=200),
    left=st.integers(0, published.MAX_VALIDITY_NS),
)
def test_any_text_survives(exit_code: int, text: str, left: int) -> None:
    text = text.encode("utf-8", "backslashreplace").decode()
    content = published.encode(exit_code, text, NOW + left, BOOT)
    assert published.decode(content, NOW, BOOT) == (exit_code, text)


@pytest.mark.parametrize(
    "changes",
    [
        {"boottime_ns": UNTIL + 1},
        {"boottime_ns": UNTIL - published.MAX_VALIDITY_NS - 1},
        {"boot_id": "another-boot"},
        {"boot_id": ""},
        {"trusted_uids": (54321,)},
    ],
    ids=["expired", "from the future", "another boot", "unknown boot", "another user's"],
)
def test_a_whole_file_is_not_believed_when_it_is(status: Path, changes: object) -> None:
    assert believed(status, **changes) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("exit_code", [-1, 4, 255])
def test_an_exit_code_that_is_no_verdict_is_not_believed(exit_code: int) -> None:
    assert published.decode(published.encode(exit_code, TEXT, UNTIL, BOOT), NOW, BOOT) is None


def test_an_unknown_boot_is_not_believed_even_if_it_was_unknown_when_writing() -> None:
    assert published.decode(published.encode(0, TEXT, UNTIL, ""), NOW, "") is None


def as_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_large_file(path: Path) -> None:
    path.write_bytes(GOOD + b"x" * published.MAX_BYTES)


def as_shared_file(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize(
    "spoil", [as_link, as_fifo, as_directory, as_large_file, as_shared_file, Path.unlink]
)
def test_what_is_not_the_daemons_own_file_is_not_believed(
    status: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(status)
    assert believed(status) is None


def test_a_path_that_cannot_be_one_is_not_believed() -> None:
    assert published.read("a\0b") is None
    assert published.read("") is None


def test_the_file_of_another_user_is_not_believed(tmp_path: Path, status: Path) -> None:
    needs.root()
    os.chown(status, 65534, 65534)
    assert believed(status, trusted_uids=None) is None


def test_the_user_to_whom_root_gave_the_directory_is_believed(private_dir: Path) -> None:
    needs.root()
    private_dir.chmod(0o755)
    directory = private_dir / "clock-agent"
    directory.mkdir(mode=0o755)
    assert Publisher(str(directory), BOOT).publish(2, TEXT, UNTIL, {}) is None
    for path in (directory, directory / "status"):
        os.chown(path, 65534, 65534)
    assert believed(directory / "status", trusted_uids=None) == (2, TEXT)
    directory.chmod(0o777)
    assert believed(directory / "status", trusted_uids=None) is None
    directory.chmod(0o755)
    private_dir.chmod(0o777)
    assert believed(directory / "status", trusted_uids=None) is None


def test_this_boot_and_now_are_taken_from_the_system(tmp_path: Path) -> None:
    import time

    soon = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 60 * 10**9
    assert Publisher(str(tmp_path)).publish(1, TEXT, soon, {}) is None
    assert published.read(str(tmp_path / "status")) == (1, TEXT)


def test_a_link_where_the_new_file_is_written_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / ".status.new").symlink_to(victim)
    (tmp_path / "status").symlink_to(victim)
    assert Publisher(str(tmp_path), BOOT).publish(0, TEXT, UNTIL, {}) is None
    assert victim.read_text() == "untouched"
    assert believed(tmp_path / "status") == (0, TEXT)


def test_a_missing_directory_is_told_and_not_raised(tmp_path: Path) -> None:
    told = Publisher(str(tmp_path / "none"), BOOT).publish(0, TEXT, UNTIL, {})
    assert told == f"cannot write {tmp_path}/none/status: No such file or directory"


def test_a_verdict_that_cannot_be_published_withdraws_the_one_before(
    tmp_path: Path, status: Path
) -> None:
    too_long = "x" * published.MAX_BYTES
    assert Publisher(str(tmp_path), BOOT).publish(2, too_long, UNTIL, {}) is not None
    assert not status.exists()


def test_a_number_that_json_does_not_have_is_told_and_not_raised(
    tmp_path: Path, status: Path
) -> None:
    told = Publisher(str(tmp_path), BOOT).publish(0, TEXT, UNTIL, {"offset_ms": float("nan")})
    assert "cannot be written as JSON" in str(told)
    assert not status.exists()


def test_a_full_disk_withdraws_the_verdict_before_and_leaves_no_rubbish(
    private_dir: Path,
) -> None:
    needs.root()
    mount, umount = needs.program("mount"), needs.program("umount")
    assert (
        os.spawnv(
            os.P_WAIT, mount, ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(private_dir)]
        )
        == 0
    )
    try:
        publisher = Publisher(str(private_dir), BOOT)
        assert publisher.publish(0, TEXT, UNTIL, {}) is None
        told = publisher.publish(2, "x" * 40_000, UNTIL, {})
        assert told == f"cannot write {private_dir}/status: No space left on device"
        assert not list(private_dir.iterdir())
        assert publisher.publish(1, TEXT, UNTIL, {}) is None
        assert believed(private_dir / "status") == (1, TEXT)
    finally:
        os.spawnv(os.P_WAIT, umount, ["umount", str(private_dir)])


def test_a_clean_stop_leaves_nothing_to_believe(tmp_path: Path, status: Path) -> None:
    publisher = Publisher(str(tmp_path), BOOT)
    publisher.withdraw()
    publisher.withdraw()
    assert not list(tmp_path.iterdir())
    assert believed(status) is None


def test_a_status_from_before_the_clock_was_set_is_not_believed(tmp_path: Path) -> None:
    """What was found out about the clock then says nothing about the one there is now."""
    booted = published.booted()
    publisher = Publisher(str(tmp_path), BOOT)
    for moved, believed in ((0, True), (4_000_000, True), (-50_000_000, False), (10**12, False)):
        assert publisher.publish(0, TEXT, UNTIL, {}, booted_ns=booted + moved) is None
        found = published.read(str(tmp_path / "status"), NOW, BOOT)
        assert (found == (0, TEXT)) is believed, moved
