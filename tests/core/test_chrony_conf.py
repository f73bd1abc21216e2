"""Owns the tests of reading and judging chrony.conf."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import chrony_conf, chrony_conf_advice, diagnosis
from agent.core.chrony_conf import Conf
from agent.core.diagnosis import Diagnosis
from agent.core.files import Entry
from agent.core.image import Image
from agent.core.model import Verdict
from agent.tree import Tree

GOOD = "pool ntp.example iburst\nmakestep 1 3\nrtcsync\nmaxclockerror 50\n"


class Memory:
    """Files that are only in memory."""

    def __init__(self, files: Dict[str, str]) -> None:
        self._files = files

    def entry(self, path: str) -> Entry:
        return Entry(path, "file" if path in self._files else "missing")

    def resolve(self, path: str) -> str:
        return path

    def names(self, directory: str) -> Tuple[str, ...]:
        start = directory.rstrip("/") + "/"
        return tuple(sorted(path[len(start) :] for path in self._files if path.startswith(start)))

    def read(self, path: str) -> Optional[str]:
        return self._files.get(path)


def conf(text: str, **others: str) -> Conf:
    files = {"/etc/chrony.conf": text}
    files.update({"/" + name.replace("__", "/"): other for name, other in others.items()})
    return chrony_conf.read(Memory(files), "/etc/chrony.conf")


def causes(read: Conf, unprivileged: bool = True) -> List[str]:
    found = chrony_conf_advice.judge(read, unprivileged)
    return [each.cause for each in found if each.verdict > Verdict.OK or each.note]


def only(text: str) -> Diagnosis:
    found = list(chrony_conf_advice.judge(conf(text), unprivileged=True))
    (finding,) = [each for each in found if each.verdict > Verdict.OK]
    return finding


def test_a_good_configuration_has_no_finding() -> None:
    assert causes(conf(GOOD)) == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (GOOD.replace("pool ntp.example iburst", ""), "no-source"),
        (GOOD.replace("pool", "server"), "one-source"),
        (GOOD.replace("iburst", "maxsources 1"), "one-source"),
        (GOOD + "local stratum 10\n", "local-without-orphan"),
        (GOOD.replace("1 3", "1 -1"), "steps-any-time"),
        (GOOD.replace("makestep 1 3", ""), "no-makestep"),
        (GOOD + "cmdport 0\n", "no-access"),
        (GOOD + "servre typo.example\n", "unknown-directive"),
    ],
)
def test_each_fault_is_the_only_finding(text: str, cause: str) -> None:
    assert only(text).cause == cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (GOOD.replace("rtcsync", ""), "no-rtcsync"),
        (GOOD.replace("maxclockerror 50", ""), "hopeful-maxclockerror"),
    ],
)
def test_what_could_be_better_is_a_note_and_no_fault(text: str, cause: str) -> None:
    notes = [each for each in chrony_conf_advice.judge(conf(text), True) if each.note]
    assert [each.cause for each in notes] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("pool ntp.example iburst", ""),
        GOOD.replace("pool", "server"),
        GOOD + "local stratum 10\n",
        GOOD + "local",
        GOOD.replace("1 3", "1 -1"),
        GOOD.replace("makestep 1 3", ""),
        GOOD + "cmdport 0\n",
        GOOD.replace("rtcsync", ""),
        GOOD.replace("\nmaxclockerror 50\n", ""),
        "cmdport 0\nlocal\nmakestep 1 -1",
        "",
    ],
)
def test_the_printed_commands_mend_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "etc dir").mkdir()
    (tmp_path / "etc dir" / "chrony.conf").write_text(text, "utf-8")
    image = Image(Tree(str(tmp_path)), root=str(tmp_path))

    def found() -> List[Diagnosis]:
        read = chrony_conf.read(image.files, "/etc dir/chrony.conf")
        return list(chrony_conf_advice.judge(read, True, image.outside))

    for line in [line for each in found() for line in each.remedy]:
        subprocess.run(["sh", "-c", line], check=True)
    assert [each.cause for each in found() if each.remedy] == []


def test_on_a_host_chronyd_is_restarted_once_after_the_last_change() -> None:
    text = "local\nservre x\nmakestep 1 -1\n"
    found = diagnosis.ordered(chrony_conf_advice.judge(conf(text), True, restart=("restart it",)))
    faults = [each for each in found if each.verdict > Verdict.OK]
    assert [each.remedy[-1] == "restart it" for each in faults] == [False, False, False, True]
    assert all("restarted" in each.remedy[-1] for each in faults[:-1])
    notes = [each for each in found if each.note]
    assert notes
    assert all("starts next" in each.remedy[-1] for each in notes)


def test_a_line_is_named_with_its_number() -> None:
    assert only("# comment\n\n" + GOOD + "local\n").where == ("/etc/chrony.conf:7",)


def test_local_with_orphan_is_a_real_arrangement() -> None:
    assert causes(conf(GOOD + "local stratum 10 orphan\n")) == []


def test_two_servers_are_enough_not_to_be_alone() -> None:
    assert causes(conf(GOOD.replace("pool", "server") + "server b.example\n")) == []


def test_a_reference_clock_is_a_source() -> None:
    assert causes(conf(GOOD + "refclock PHC /dev/ptp0\n")) == []


def test_comments_of_every_kind_and_any_case_are_read_as_chronyd_does() -> None:
    read = conf("! a\n; b\n# c\n% d\n\n  SERVER a.example\nServer b.example\n")
    assert [(line.name, line.words) for line in read.lines] == [
        ("server", ("a.example",)),
        ("server", ("b.example",)),
    ]


def test_a_command_port_of_zero_is_no_matter_for_root() -> None:
    assert causes(conf(GOOD + "cmdport 0\n"), unprivileged=False) == []


def test_includes_and_directories_are_followed() -> None:
    read = conf(
        "include /etc/extra.conf\ninclude /etc/more/*.conf\n"
        "confdir /etc/d /usr/d\nsourcedir /run/s\n",
        **{
            "etc__extra.conf": "makestep 1 3\n",
            "etc__more__a.conf": "rtcsync\n",
            "etc__more__a.off": "local\n",
            "etc__d__x.conf": "server etc.example\n",
            "usr__d__x.conf": "server usr.example\n",
            "usr__d__y.conf": "driftfile /x\n",
            "run__s__dhcp.sources": "server dhcp.example\n",
            "run__s__dhcp.txt": "server no.example\n",
        },
    )
    said = [(line.name, *line.words) for line in read.lines]
    assert ("makestep", "1", "3") in said
    assert ("rtcsync",) in said
    assert ("driftfile", "/x") in said
    assert [line.words[0] for line in read.all("server")] == ["etc.example", "dhcp.example"]
    assert not read.all("local")
    assert read.troubles == ()


def test_a_source_from_dhcp_counts_as_a_source() -> None:
    read = conf("sourcedir /run/s\nmakestep 1 3\n", **{"run__s__a.sources": "pool p.example\n"})
    assert "no-source" not in causes(read)


def test_an_include_loop_is_a_finding() -> None:
    assert "include-loop" in causes(conf(GOOD + "include /etc/chrony.conf\n"))


def test_a_glob_that_includes_itself_a_thousand_times_ends() -> None:
    files = {f"etc__d__{n:03}.conf": "include /etc/d/*.conf\n" for n in range(30)}
    assert "include-loop" in causes(conf("include /etc/d/*.conf\n", **files))


def test_a_file_that_may_not_be_read_is_unknown_and_not_a_fault() -> None:
    class Closed(Memory):
        def read(self, path: str) -> Optional[str]:
            return {"/etc/open": ""}.get(path)

    read = chrony_conf.read(Closed({"/etc/chrony.conf": ""}), "/etc/chrony.conf")
    (found,) = chrony_conf_advice.judge(read, unprivileged=True)
    assert (found.cause, found.verdict) == ("no-permission", Verdict.UNKNOWN)


def test_missing_files_are_findings() -> None:
    assert "unreadable-file" in causes(conf(GOOD + "include /etc/none.conf\n"))
    gone = chrony_conf.read(Memory({}), "/etc/chrony.conf")
    assert causes(gone) == ["unreadable-file"]


def test_lines_of_a_file_that_got_here_by_mistake_are_not_quoted() -> None:
    found = chrony_conf_advice.judge(conf("root:$6$salt$hash:19000:0\n"), True)
    said = [each.seen for each in found]
    assert len(said) > 1
    assert "hash" not in str(said)


def test_ten_thousand_lines_are_read() -> None:
    servers = "".join(f"server s{n}.example\n" for n in range(10_000))
    assert len(conf(servers + GOOD).lines) == 10_004


def test_binary_content_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "chrony.conf").write_bytes(bytes(range(256)) * 100)
    read = chrony_conf.read(Tree(str(tmp_path)), "/etc/chrony.conf")
    assert causes(read) == ["binary-file"]


def test_a_comment_in_any_encoding_is_a_comment(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    comment = "# F\u00fcr die B\u00f6rse: \u00e4\u00f6\u00fc\u00df\n".encode("latin-1")
    (tmp_path / "etc" / "chrony.conf").write_bytes(comment * 9 + GOOD.encode())
    assert causes(chrony_conf.read(Tree(str(tmp_path)), "/etc/chrony.conf")) == []


def test_relative_names_are_taken_from_the_root_where_systemd_starts_chronyd() -> None:
    read = conf(GOOD + "include extra.conf\nconfdir d\n", **{"d__x.conf": "local\n"})
    assert [line.where for line in read.all("local")] == ["/d/x.conf:1"]
    assert [each.where for each in read.troubles] == ["/extra.conf"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda conf: conf.mkdir(), "no regular file"),
        (lambda conf: os.mkfifo(conf), "no regular file"),
        (lambda conf: conf.symlink_to("chrony.conf"), "a loop of links"),
        (lambda conf: conf.symlink_to("/etc/shadow"), "a link to /etc/shadow, which is not there"),
    ],
)
def test_what_is_no_file_is_said_to_be_none(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    (tmp_path / "etc").mkdir()
    make(tmp_path / "etc" / "chrony.conf")
    read = chrony_conf.read(Tree(str(tmp_path)), "/etc/chrony.conf")
    assert said in read.troubles[0].what


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    causes(conf(text))


@given(
    st.lists(st.sampled_from(sorted(chrony_conf.DIRECTIVES))),
    st.text(alphabet="-0 1ax*/", max_size=9),
)
def test_no_directive_with_odd_words_makes_it_raise(names: List[str], words: str) -> None:
    causes(conf("".join(f"{name} {words}\n" for name in names)))
