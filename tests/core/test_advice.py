"""Owns the tests of advice as it is written down, whoever gives it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator

import pytest

_CORE = Path(__file__).resolve().parents[2] / "agent" / "core"
_PLACES = sorted(
    path for part in ("causes", "remedies", "advice") for path in _CORE.glob(f"*{part}*.py")
)


def texts(path: Path) -> Iterator[str]:
    """Every text in a module that is not a docstring."""
    tree = ast.parse(path.read_text())
    docstrings = {
        node.body[0].value.value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and value not in docstrings:
            yield value


@pytest.mark.parametrize("path", _PLACES, ids=lambda path: path.name)
def test_commands_work_as_printed_where_no_pipe_can_be_printed(path: Path) -> None:
    # `check` writes a pipe as \x7c: Nagios takes what comes after one for performance data
    assert [text for text in texts(path) if "|" in text] == []
