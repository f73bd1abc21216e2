"""Owns reading a secret from a file: its first line. A ground module: any adapter may ask.

Read each time it is used, so that a changed secret is used at once and is nowhere kept.
"""

from __future__ import annotations

import errno
import os

_LONGEST = 4096


def read_secret(path: str) -> str:
    """The secret in ``path`` for where only ASCII can stand, as in a header of HTTP.

    Raises OSError, whose ``strerror`` says what is wrong.
    """
    try:
        return read_secret_bytes(path).decode("ascii")
    except UnicodeDecodeError:
        raise OSError(errno.EINVAL, "its first line is not plain ASCII", path) from None


def read_secret_bytes(path: str) -> bytes:
    """The first line of ``path``. Raises OSError, whose ``strerror`` says what is wrong."""
    # O_NONBLOCK: never wait for the writer of a pipe
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise OSError(errno.EINVAL, "its path holds a NUL", path) from None
    try:
        content = os.read(descriptor, _LONGEST + 1)
    except OSError as error:  # a directory: the error does not name it
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.close(descriptor)
    line = content.split(b"\n", 1)[0].rstrip(b"\r")
    if not line:
        raise OSError(errno.EINVAL, "its first line is empty", path)
    if len(line) > _LONGEST:
        raise OSError(errno.EFBIG, f"its first line is longer than {_LONGEST} bytes", path)
    return line
