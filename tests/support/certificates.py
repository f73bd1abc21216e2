"""Owns throw-away certificates for tests: an authority, and what it signs with any dates."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.support import needs

_DAY = 86400
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_CONFIG = """
[ca]
default_ca = own
[own]
dir = {directory}
database = $dir/index.txt
serial = $dir/serial
new_certs_dir = $dir
certificate = $dir/ca.pem
private_key = $dir/ca.key
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""


class Pair(NamedTuple):
    """A certificate and its key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; whoever trusts ``certificate`` trusts them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.certificate = directory / "ca.pem"
        (directory / "index.txt").touch()
        (directory / "serial").write_text("01\n")
        self._config = directory / "ca.cnf"
        self._config.write_text(_CONFIG.format(directory=directory))
        key = str(directory / "ca.key")
        _openssl("req", "-x509", *_KEY, "-keyout", key, "-out", str(self.certificate),
                 "-subj", "/CN=test authority", "-days", "3650")  # fmt: skip

    def issue(
        self,
        name: str,
        *,
        hosts: str = "IP:127.0.0.1,DNS:localhost",
        start: float = -1,
        end: float = 30,
    ) -> Pair:
        """A certificate for ``hosts``, valid from ``start`` to ``end`` days from now."""
        pair = Pair(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        request = str(self._directory / f"{name}.csr")
        _openssl("req", "-new", *_KEY, "-keyout", str(pair.key), "-out", request,
                 "-subj", f"/CN={name}", "-addext", f"subjectAltName={hosts}")  # fmt: skip
        _openssl("ca", "-config", str(self._config), "-batch", "-notext", "-in", request,
                 "-out", str(pair.certificate), "-startdate", _date(start),
                 "-enddate", _date(end))  # fmt: skip
        return pair


def encrypted(pair: Pair, passphrase: str) -> Pair:
    """The same pair with its key behind a passphrase."""
    key = pair.key.with_suffix(".locked")
    _openssl("pkey", "-in", str(pair.key), "-aes256", "-passout", f"pass:{passphrase}",
             "-out", str(key))  # fmt: skip
    return Pair(pair.certificate, key)


def _date(days: float) -> str:
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * _DAY))


def _openssl(*arguments: str) -> None:
    subprocess.run(
        [needs.program("openssl"), *arguments],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
