"""Owns which fixtures every test of this directory can ask for by name."""

from __future__ import annotations

from tests.support.chrony_fixtures import start_chronyd as start_chronyd
from tests.support.chrony_fixtures import start_time_server as start_time_server
from tests.support.chrony_fixtures import synchronised_chronyd as synchronised_chronyd
from tests.support.chrony_fixtures import time_server as time_server
from tests.support.time_host import time_machine as time_machine
