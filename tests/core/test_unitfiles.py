"""Owns the tests of reading unit files, links and presets as systemd does."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from agent.core import unitfiles
from agent.core.files import Entry
from agent.tree import Tree
from tests.support.trees import UNIT, Image

ETC = "etc/systemd/system"
LIB = "usr/lib/systemd/system"


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path)
    made.write(f"{LIB}/chronyd.service", UNIT)
    return made


def kind(image: Image, name: str = "chronyd.service") -> str:
    return unitfiles.find(Tree(str(image.root)), name).kind


def test_the_directory_that_wins_decides(image: Image) -> None:
    assert kind(image) == "file"
    image.link("run/systemd/system/chronyd.service", "/dev/null")
    assert kind(image) == "masked"
    image.write(f"{ETC}/chronyd.service", UNIT)
    assert kind(image) == "file"


@pytest.mark.parametrize("target", ["/dev/null", "../../../dev/null", "../../../../../dev/null"])
def test_every_way_to_write_dev_null_masks(image: Image, target: str) -> None:
    image.link(f"{ETC}/chronyd.service", target)
    assert kind(image) == "masked"


def test_a_chain_of_links_is_followed_to_its_end(image: Image) -> None:
    image.link(f"{ETC}/ntpd.service", "middle.service")
    image.link(f"{ETC}/middle.service", f"/{LIB}/chronyd.service")
    found = unitfiles.find(Tree(str(image.root)), "ntpd.service")
    assert (found.kind, found.real) == ("alias", "chronyd.service")


def test_a_link_to_a_file_of_the_same_name_is_the_unit_itself(image: Image) -> None:
    image.write("opt/chronyd.service", UNIT)
    image.link(f"{ETC}/chronyd.service", "/opt/chronyd.service")
    assert kind(image) == "file"


def test_aliases_come_from_links_and_from_the_install_section(image: Image) -> None:
    image.write(f"{LIB}/chronyd.service", UNIT + "Alias=ntp.service old.service\n")
    image.link(f"{LIB}/ntpd.service", "chronyd.service")
    found = unitfiles.aliases(Tree(str(image.root)), "chronyd.service")
    assert set(found) == {"ntp.service", "old.service", "ntpd.service"}


def test_the_aliases_of_a_masked_unit_are_still_known(image: Image) -> None:
    image.write(f"{LIB}/chronyd.service", UNIT + "Alias=ntp.service\n")
    image.link(f"{ETC}/chronyd.service", "/dev/null")
    assert unitfiles.aliases(Tree(str(image.root)), "chronyd.service") == ("ntp.service",)


def test_an_empty_assignment_resets_and_a_backslash_joins(image: Image) -> None:
    image.write(
        f"{ETC}/chronyd.service.d/10-x.conf", "[Service]\nExecStart=\nExecStart=/a \\\n -b\n# c\n"
    )
    read = unitfiles.settings(Tree(str(image.root)), "chronyd.service")
    assert [" ".join(start.split()) for start in read.get("Service", "ExecStart")] == ["/a -b"]


def test_drop_ins_of_other_names_and_of_all_services_apply_its_own_first(image: Image) -> None:
    image.link(f"{ETC}/ntpd.service", f"/{LIB}/chronyd.service")
    for name, nice in (("ntpd.service", 1), ("service", 2), ("chronyd.service", 3)):
        image.write(f"{ETC}/{name}.d/{name}.conf", f"[Service]\nNice={nice}\n")
        image.write(f"{ETC}/{name}.d/same.conf", f"[Service]\nUMask={nice}\n")
    found = unitfiles.settings(Tree(str(image.root)), "chronyd.service")
    assert set(found.get("Service", "Nice")) == {"1", "2", "3"}
    assert found.get("Service", "UMask") == ("3",)


def test_a_drop_in_linked_to_dev_null_is_switched_off(image: Image) -> None:
    image.write(f"{LIB}/chronyd.service.d/x.conf", "[Service]\nExecStart=\n")
    image.link(f"{ETC}/chronyd.service.d/x.conf", "/dev/null")
    read = unitfiles.settings(Tree(str(image.root)), "chronyd.service")
    assert read.get("Service", "ExecStart")


WANTS = "systemd/system/multi-user.target.wants/chronyd.service"


@pytest.mark.parametrize(
    ("make", "pulls_in"),
    [
        (lambda _: None, True),
        (lambda image: image.link(f"etc/{WANTS}", "/nowhere.service"), True),
        (lambda image: image.link(f"etc/{WANTS}", "/dev/null"), False),
        (lambda image: image.write(f"etc/{WANTS}", ""), False),
        (lambda image: image.write(f"etc/{WANTS}", "[Unit]\n"), False),
        (lambda image: image.link(f"run/{WANTS}", "/dev/null"), False),
        (lambda image: image.link("usr/lib/x.requires/chronyd.service", "/dev/null"), True),
    ],
)
def test_what_systemd_ignores_is_no_boot_link_and_hides_the_one_behind_it(
    image: Image, make: Callable[[Image], None], pulls_in: bool
) -> None:
    image.link(f"usr/lib/{WANTS}", "../chronyd.service")
    make(image)
    tree = Tree(str(image.root))
    assert bool(unitfiles.boot_links(tree, "chronyd.service")) is pulls_in
    assert bool(unitfiles.idle_links(tree, "chronyd.service")) is not pulls_in


@pytest.mark.parametrize(
    ("lines", "enabled"),
    [
        ("", True),
        ("disable *\n", False),
        ("enable chron*\ndisable *\n", True),
        ("disable chronyd.service\nenable *\n", False),
        ("# enable chronyd.service\ndisable chron?d.service\n", False),
        ("nonsense\n\nenable\n", True),
    ],
)
def test_the_first_preset_that_matches_decides(image: Image, lines: str, enabled: bool) -> None:
    image.write("usr/lib/systemd/system-preset/90-x.preset", lines)
    assert unitfiles.preset(Tree(str(image.root)), "chronyd.service")[0] is enabled


def test_presets_apply_by_file_name_and_the_first_directory_wins(image: Image) -> None:
    image.write("usr/lib/systemd/system-preset/50-x.preset", "enable chronyd.service\n")
    image.write("usr/lib/systemd/system-preset/40-y.preset", "disable chronyd.service\n")
    tree = Tree(str(image.root))
    assert unitfiles.preset(tree, "chronyd.service")[0] is False
    image.link("etc/systemd/system-preset/40-y.preset", "/dev/null")
    assert unitfiles.preset(tree, "chronyd.service")[0] is True


def test_a_boot_link_that_may_not_be_looked_at_is_nothing_to_move_away(image: Image) -> None:
    wants = image.root / ETC / "multi-user.target.wants"
    image.link(f"{ETC}/multi-user.target.wants/chronyd.service", f"/{LIB}/chronyd.service")
    tree = Hidden(str(image.root), str(wants))
    assert unitfiles.obstacles(tree, "chronyd.service") == ()
    assert unitfiles.idle_links(tree, "chronyd.service") == ()


class Hidden(Tree):
    """A tree in which what is in one directory may not be looked at."""

    def __init__(self, root: str, closed: str) -> None:
        super().__init__(root)
        self._closed = closed

    def entry(self, path: str) -> Entry:
        if (self.root + path).startswith(self._closed + "/"):
            return Entry(path, "denied")
        return super().entry(path)
