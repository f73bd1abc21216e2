"""Owns the command line: which verb runs, and that no way of failing looks like a verdict.

``clock-agent check`` is run a million times a day, so a published verdict is answered before
anything but the reader of that one file has been imported: this module imports only ``sys``.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from types import ModuleType
    from typing import List, NoReturn, Optional, Sequence, TextIO, Tuple

    from agent.options import Arguments

DEFAULT_STATUS = "/run/clock-agent/status"
#: Usage errors, broken configurations and our own bugs: never 1 (warning) or 2 (critical).
UNKNOWN = 3

_LONGEST_LINE = 2000

#: verb -> the module that owns it (imported when it is used), and what it is for.
COMMANDS = {
    "run": ("agent.commands.run", "watch this host's clock: the daemon"),
    "check": ("agent.commands.check", "answer a health probe: can this host's clock be trusted?"),
    "doctor": (
        "agent.commands.doctor",
        "list what is wrong on this host or in an image, and the remedy",
    ),
    "status": ("agent.commands.status", "what the daemon knows, and what it still has to do"),
    "history": ("agent.commands.history", "what was the clock at any time that is remembered?"),
    "drill": ("agent.commands.drill", "send a marked test alert through every sink"),
    "config": ("agent.commands.config", "check or show the configuration"),
}

#: Calls of ``check`` that the published status alone can answer -> whether a warning passes.
PUBLISHED_CALLS = {
    ("check",): False,
    ("check", "--fail-on", "warning"): False,
    ("check", "--fail-on=warning"): False,
    ("check", "--fail-on", "critical"): True,
    ("check", "--fail-on=critical"): True,
}


def main(arguments: Optional[Sequence[str]] = None, status_file: str = DEFAULT_STATUS) -> int:
    """Run one command and return its exit status; the only place that catches everything."""
    words = tuple(sys.argv[1:] if arguments is None else arguments)
    _steady_streams()
    try:
        status = _published_answer(words, status_file)
        if status is None:
            status = _dispatch(words)
    except KeyboardInterrupt:
        status = _fail(words, "interrupted before there was an answer")
    except BrokenPipeError:  # the reader has gone: nobody to tell
        status = UNKNOWN
    except OSError as error:
        status = _fail(words, f"{error.strerror or error}: {error.filename or 'while answering'}")
    except Exception as error:  # the last line of defence: a bug is not a verdict either
        status = _fail(
            words, _shortage(error) or f"internal error, please report it: {_where(error)}"
        )
    return _finish(status)


def _steady_streams() -> None:
    """Let nothing go wrong by the streams we were started with.

    A closed one would lend its number to the next file opened, such as the memory of the daemon,
    and whoever writes to standard output would write there. A character that the locale cannot
    write becomes its escape.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        import os

        for number in range(3):
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _published_answer(words: Tuple[str, ...], status_file: str) -> Optional[int]:
    """Print the daemon's published verdict if it can be believed; None when it cannot."""
    if words not in PUBLISHED_CALLS:
        return None
    from agent import published

    answer = published.read(status_file)
    if answer is None:
        return None
    status, text = answer
    sys.stdout.write(text)
    return 0 if status == 1 and PUBLISHED_CALLS[words] else status


def _dispatch(words: Tuple[str, ...]) -> int:
    from agent.errors import ClockAgentError

    try:
        arguments = _plain_check(words) or parser(words).parse_args(words)
        module = _module(arguments.verb)
        status: int = module.run(arguments, arguments.config)
    except ClockAgentError as error:
        return _fail(words, f"{error.message} ({error.hint})" if error.hint else error.message)
    return status


def _plain_check(words: Tuple[str, ...]) -> Optional[Arguments]:
    """The arguments of a ``check`` that is written plainly; None for any other call."""
    from agent import options

    if "check" not in words:
        return None
    verb = words.index("check")
    before, after = words[:verb], words[verb + 1 :]
    known = (*options.PROGRAM, *_module("check").OPTIONS)
    values = options.read((*before, *after), known)
    if values is None or options.read(before, options.PROGRAM) is None:
        return None
    return options.Arguments(verb="check", **values)


def parser(verbs: Sequence[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The whole command line; the options of a verb are loaded when it is among ``verbs``."""
    import argparse

    from agent import __version__, options
    from agent.errors import UsageError

    class Help(argparse.HelpFormatter):
        """A fixed width: asking for the terminal's would import shutil, 6 ms, on every call."""

        def __init__(self, prog: str) -> None:
            super().__init__(prog, max_help_position=28, width=96)

    class Parser(argparse.ArgumentParser):
        """Leaves by an error we catch: argparse's own exit status 2 would read as critical."""

        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{message}; try '{self.prog} --help'")

    top = Parser(
        prog="clock-agent",
        description="Can the programs on this host trust its clock?",
        formatter_class=Help,
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    options.declare(top, options.PROGRAM)
    choices = top.add_subparsers(dest="verb", metavar="COMMAND", required=True, prog=top.prog)
    for verb, (_, purpose) in COMMANDS.items():
        below = choices.add_parser(
            verb,
            help=purpose,
            description=purpose[:1].upper() + purpose[1:],
            formatter_class=Help,
        )
        # Understood after the verb as well; without SUPPRESS it would unset the one before.
        below.add_argument("--config", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        if verb in verbs:
            _module(verb).add_arguments(below)
    return top


def _module(verb: str) -> ModuleType:
    module: ModuleType = __import__(COMMANDS[verb][0], fromlist=("run",))
    return module


def _fail(words: Tuple[str, ...], message: str) -> int:
    """Say why there is no answer, where the caller looks for it: check on stdout, as one line.

    A file name on the command line may hold anything; it is shown and can forge nothing.
    """
    from agent.core.wording import plain

    lines = [plain(line, _LONGEST_LINE) for line in message.splitlines()]
    if "check" in words and "config" not in words:
        said = "; ".join(lines).replace("|", "\\x7c")  # what follows one is performance data
        _say(sys.stdout, f"CLOCK UNKNOWN - {said}")
    else:
        _say(sys.stderr, "\n".join(f"clock-agent: {line}" for line in lines))
    return UNKNOWN


def _say(stream: Optional[TextIO], line: str) -> None:
    import contextlib

    if stream is not None:  # None: closed before we were started
        with contextlib.suppress(OSError):  # /dev/full: the exit status has to say it alone
            print(line, file=stream, flush=True)


def _shortage(error: Exception) -> str:
    """That it is this host which has nothing left to give; empty for any other error."""
    if isinstance(error, MemoryError) or str(error) == "can't start new thread":
        return "this host, or a limit set for clock-agent, has no more memory or threads"
    return ""


def _where(error: Exception) -> str:
    last: List[str] = []
    trace = error.__traceback__
    while trace is not None:
        last = [trace.tb_frame.f_code.co_filename.rpartition("/")[2], str(trace.tb_lineno)]
        trace = trace.tb_next
    return f"{type(error).__name__}: {error} ({':'.join(last)})"


def _finish(status: int) -> int:
    """Flush what was said; an answer that could not be written is no answer."""
    if sys.stdout is None:
        return UNKNOWN
    try:
        sys.stdout.flush()
    except OSError:
        import os

        # the interpreter flushes once more on its way out, and would complain with status 120
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNKNOWN
    return status


if __name__ == "__main__":
    sys.exit(main())
