"""Owns the manual pages and the shell completion, made from the tables the program itself uses.

Not a package: ``build.py`` beside it imports it, with the project on ``sys.path``.
"""

from __future__ import annotations

import argparse
import textwrap
from typing import Iterator, List, Mapping, Sequence, Tuple

from agent import cli, settings_text
from agent.config import DEFAULT_PATH
from agent.core.conditions import CONDITIONS
from agent.settings_rows import Records, Section, Setting
from agent.settings_table import TABLE

EXIT_STATUS = (
    ("0", "OK: a trusted source says that the clock is within limits."),
    ("1", "WARNING: the clock works, but something needs attention."),
    (
        "2",
        "CRITICAL: do not trust the clock. It is off, nobody vouches for it, or its service died.",
    ),
    ("3", "UNKNOWN: there is no telling; also every wrong use and every broken configuration."),
)
FILES = (
    (DEFAULT_PATH, "The configuration; see clock-agent.yaml(5). It may be missing."),
    (
        "/run/clock-agent/status",
        "The published verdict that \\fBcheck\\fR repeats while it is valid.",
    ),
    ("/var/lib/clock-agent/", "What is remembered: alerts, readings, events."),
)


def manual(date: str, version: str) -> str:
    """clock-agent(8)."""
    top = cli.parser(tuple(cli.COMMANDS))
    lines = [
        _heading("CLOCK\\-AGENT", 8, date, version, "System Administration"),
        ".SH NAME",
        "clock\\-agent \\- watch whether the programs on a host can trust its clock",
        ".SH SYNOPSIS",
        *(f".B {_line(line)}\n.br" for line in _synopsis(top)),
        ".SH DESCRIPTION",
        _text(
            "The daemon takes a reading every interval: what chronyd claims, what systemd says of"
            " the time service, and the local clock against TIME of Redis servers. It judges them,"
            " sends gauges to StatsD, publishes its verdict and raises alerts. It changes nothing"
            " on the host and never sets the clock."
        ),
        ".PP",
        _text(
            "An offset is local clock minus reference: positive is ahead (fast), negative is behind"
            " (slow). It is judged with its error bound: a reading that does not exclude a"
            " critical offset is never called ok. Conditions are " + ", ".join(CONDITIONS) + "."
        ),
        ".SH OPTIONS",
        *_options(top),
        ".SH COMMANDS",
    ]
    for name, command in _commands(top).items():
        lines += [f".SS {_text(name)}", _text(command.description or "")]
        lines += _options(command)
    lines += [".SH EXIT STATUS", *_terms(EXIT_STATUS), ".SH FILES", *_terms(FILES)]
    lines += [".SH EXAMPLES", *_examples(EXAMPLES), ".SH SEE ALSO"]
    lines += [".BR clock\\-agent.yaml (5),", ".BR chronyc (1),", ".BR systemctl (1)", ""]
    return "\n".join(lines)


EXAMPLES = (
    ("Measure now, without the daemon:", ["clock-agent check --live"]),
    (
        "Compare with a Redis server, without any file:",
        ["clock-agent check --redis redis://lock-store.internal:6379"],
    ),
    (
        "A job that must not run on a bad clock, in its unit:",
        ["ExecCondition=/usr/bin/clock-agent check --fail-on critical"],
    ),
    (
        "Test a changed configuration and take it over:",
        ["clock-agent config check && systemctl reload clock-agent"],
    ),
)


def reference(date: str, version: str) -> str:
    """clock-agent.yaml(5)."""
    lines = [
        _heading("CLOCK\\-AGENT.YAML", 5, date, version, "File Formats"),
        ".SH NAME",
        "clock\\-agent.yaml \\- configuration of clock\\-agent",
        ".SH SYNOPSIS",
        _text(DEFAULT_PATH),
        ".SH DESCRIPTION",
        _text(
            "YAML. Every key is optional, and so is the file. Durations need a unit: 500ms, 5s,"
            " 1m30s, 2h, 30d; so do sizes: 512KiB, 64MiB. Booleans are true and false."
            " Unknown and repeated keys, anchors, aliases, tags and merge keys are refused."
            " `clock-agent config check` reports every mistake with its line,"
            " `clock-agent config show` prints what is in force."
        ),
    ]
    scalars = [row for row in TABLE if isinstance(row, Setting)]
    lines += [".SH TOP LEVEL", *_settings(scalars)]
    for row in TABLE:
        if isinstance(row, (Section, Records)):
            lines += [f".SH {row.name.upper()}", _text(row.help)]
            lines += [_text("A list.")] if isinstance(row, Records) else []
            lines += _settings(row.rows)
        if isinstance(row, Records):
            for name, rows in row.variants.items():
                lines += [f".SS type: {name}", *(_settings(rows) or ["No further keys."])]
    lines += [".SH EXAMPLE", *_examples([("The smallest useful one:", EXAMPLE.splitlines())])]
    lines += [".SH SEE ALSO", ".BR clock\\-agent (8)", ""]
    return "\n".join(lines)


EXAMPLE = """\
references:
- name: locks
  url: redis://lock-store.internal:6379
  password_file: /etc/clock-agent/redis-password
protects:
- name: payout-reconciliation
  margin: 20m
alerts:
- type: log
- type: command
  argv: [/usr/local/bin/page]
  min_severity: critical
"""


def completion() -> str:
    """Completion for bash: commands, their options, and the words options and arguments take."""
    top = cli.parser(tuple(cli.COMMANDS))
    cases = []
    for name, command in _commands(top).items():
        words = [word for action in _visible(command) for word in action.option_strings]
        words += [
            str(word)
            for action in _visible(command)
            if not action.option_strings
            for word in action.choices or ()
        ]
        cases.append(f'        {name}) words="{" ".join(words)}" ;;')
    values = []
    for command in (top, *_commands(top).values()):
        for action in _visible(command):
            if action.option_strings and action.choices:
                options = "|".join(action.option_strings)
                values.append(f'        {options}) words="{" ".join(map(str, action.choices))}" ;;')
    return COMPLETION.format(
        top=" ".join(
            [*(w for action in _visible(top) for w in action.option_strings), *_commands(top)]
        ),
        commands="|".join(_commands(top)),
        cases="\n".join(cases),
        values="\n".join(sorted(set(values))),
    )


COMPLETION = """\
# bash completion for clock-agent

_clock_agent() {{
    local word verb="" words=""
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in
        {commands}) verb=$word && break ;;
        esac
    done
    case $verb in
        "") words="{top}" ;;
{cases}
    esac
    case ${{COMP_WORDS[COMP_CWORD-1]}} in
        --config) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$2") && return ;;
        --root) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "$2") && return ;;
{values}
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}}
complete -F _clock_agent clock-agent
"""


# The command line, taken apart.


def _commands(top: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the command line has no commands")


def _visible(parser: argparse.ArgumentParser) -> List[argparse.Action]:
    return [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)
    ]


def _synopsis(top: argparse.ArgumentParser) -> Iterator[str]:
    for command in (top, *_commands(top).values()):
        words = command.format_usage().split()[1:]
        yield " ".join(word for word in words if word != "[-h]")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in _visible(parser):
        if isinstance(action, argparse._HelpAction):
            continue  # every command has it
        said = formatter._format_action_invocation(action)
        help_text = formatter._expand_help(action) if action.help else ""
        yield f".TP\n.B {_line(said)}\n{_text(help_text)}"


# Writing roff.


def _heading(title: str, section: int, date: str, version: str, volume: str) -> str:
    return f'.TH "{title}" {section} "{date}" "clock\\-agent {version}" "{volume}"'


def _text(text: str) -> str:
    """``text``, cut into lines that begin no request of roff's."""
    return "\n".join(
        f"\\&{line}" if line.startswith((".", "'")) else line
        for line in textwrap.wrap(_line(text), 100, break_on_hyphens=False, break_long_words=False)
    )


def _line(text: str) -> str:
    """``text`` so that roff prints exactly it; hyphens stay what a shell understands."""
    escaped = text.replace("\\fB", "\0B").replace("\\fR", "\0R")
    escaped = escaped.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return escaped.replace("\0B", "\\fB").replace("\0R", "\\fR")


def _terms(pairs: Sequence[Tuple[str, str]]) -> Iterator[str]:
    for term, text in pairs:
        yield f".TP\n.B {_line(term)}\n{_text(text)}"


def _settings(rows: Sequence[Setting]) -> List[str]:
    lines = []
    for row in rows:
        default = "" if row.required else f" Default: {settings_text.written_default(row)}."
        lines.append(f".TP\n.B {_line(row.name)}\n{_text(settings_text.full_help(row) + default)}")
    return lines


def _examples(pairs: Sequence[Tuple[str, Sequence[str]]]) -> Iterator[str]:
    for text, commands in pairs:
        yield f".PP\n{_text(text)}\n.PP\n.nf\n.RS"
        yield from (_verbatim(command) for command in commands)
        yield ".RE\n.fi"


def _verbatim(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return "\\ " * indent + "\\&" + _line(line.strip())
