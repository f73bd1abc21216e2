"""Secrets from files: the first line, or one clear reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.secret_file import read_secret, read_secret_bytes


@pytest.mark.parametrize("content", [b"s3cret", b"s3cret\n", b"s3cret\r\nsecond line\n"])
def test_the_first_line_is_the_secret(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    assert read_secret(str(path)) == "s3cret"


def test_where_any_byte_may_stand_any_byte_is_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"s\xc3\xa9cret\xff\n")
    assert read_secret_bytes(str(path)) == b"s\xc3\xa9cret\xff"


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\nsecond", b"x" * 5000, b"s\xc3\xa9cret\n"])
def test_what_is_no_secret_is_named_by_its_file_and_not_shown(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(OSError, match="its first line is") as caught:
        read_secret(str(path))
    assert caught.value.filename == str(path)
    assert "cret" not in str(caught.value.strerror)


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="its first line is empty"):
        read_secret(str(tmp_path / "fifo"))


@pytest.mark.parametrize("name", ["none", ".", "a\0b"])
def test_a_file_that_cannot_be_read_raises_the_one_kind_of_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError) as raised:  # noqa: PT011  # the point: nothing else is raised
        read_secret(f"{tmp_path}/{name}")
    assert raised.value.filename == f"{tmp_path}/{name}"
