"""Owns the tests of agent.tree: nothing outside the directory is ever reached."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from agent.tree import Tree
from tests.support.limits import no_file_left


@pytest.fixture
def image(tmp_path: Path) -> Path:
    root = tmp_path / "image"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "plain").write_text("inside", "utf-8")
    (tmp_path / "secret").write_text("outside", "utf-8")
    return root


def test_an_absolute_link_starts_again_at_the_root(image: Path) -> None:
    (image / "etc" / "link").symlink_to("/etc/plain")
    assert Tree(str(image)).read("/etc/link") == "inside"
    (image / "etc" / "shadow-link").symlink_to("/etc/shadow")
    assert Tree(str(image)).read("/etc/shadow-link") is None


def test_a_link_with_dots_stops_at_the_root(image: Path, tmp_path: Path) -> None:
    (image / "etc" / "up").symlink_to("../../secret")
    tree = Tree(str(image))
    assert tree.resolve("/etc/up") == "/secret"
    assert tree.read("/etc/up") is None
    assert tree.read("/../secret") is None
    (image / "etc" / "exact").symlink_to(str(tmp_path / "secret"))
    assert tree.read("/etc/exact") is None


def test_a_directory_link_on_the_way_is_kept_inside_too(image: Path, tmp_path: Path) -> None:
    (image / "out").symlink_to(str(tmp_path))
    tree = Tree(str(image))
    assert tree.read("/out/secret") is None
    assert tree.entry("/out/secret").kind == "missing"
    assert tree.names("/out") == ()


def test_a_loop_of_links_ends(image: Path) -> None:
    (image / "a").symlink_to("b")
    (image / "b").symlink_to("a")
    tree = Tree(str(image))
    assert tree.resolve("/a") == ""
    assert tree.read("/a") is None
    assert tree.entry("/a").kind == "link"
    assert tree.entry("/a/x").kind == "missing"


def test_a_link_says_where_it_leads_and_is_not_followed(image: Path) -> None:
    (image / "etc" / "masked").symlink_to("/dev/null")
    entry = Tree(str(image)).entry("/etc/masked")
    assert (entry.kind, entry.target) == ("link", "/dev/null")


def test_pipes_and_sockets_are_not_opened(image: Path, private_dir: Path) -> None:
    os.mkfifo(image / "pipe")
    assert Tree(str(image)).read("/pipe") is None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(private_dir / "s"))
        assert Tree(str(private_dir)).read("/s") is None
        assert Tree(str(private_dir)).entry("/s").kind == "other"


def test_a_directory_in_place_of_a_file_has_no_text_and_leaves_nothing_open(image: Path) -> None:
    with no_file_left():
        assert Tree(str(image)).read("/etc") is None


def test_what_is_not_there_or_has_an_impossible_name_is_missing(image: Path) -> None:
    tree = Tree(str(image))
    for path in ("/etc/none", "/etc/plain/below", "/nul\0byte", "/" + "x" * 5000):
        assert tree.entry(path).kind == "missing"
        assert tree.read(path) is None
        assert tree.names(path) == ()
