"""``clock-agent drill``: a marked message through every sink, and the truth about each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

from tests.support.command import clock_agent, configuration
from tests.support.fakes import executable


def recorder(directory: Path, name: str) -> Dict[str, Any]:
    """A sink that writes what it is sent into a file."""
    script = f"#!/bin/sh\n{{ tr -d '\\n'; echo; }} >>'{directory / name}.sent'\n"
    argv = [executable(directory / name, script)]
    return {"type": "command", "name": name, "argv": argv}


def sent(directory: Path, name: str) -> List[Dict[str, Any]]:
    path = directory / f"{name}.sent"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_drill_raises_and_resolves_a_marked_alert_through_every_sink(tmp_path: Path) -> None:
    alerts = [recorder(tmp_path, "first"), {**recorder(tmp_path, "second"), "tags": {"team": "x"}}]
    answer = clock_agent("--config", configuration(tmp_path, {"alerts": alerts}), "drill")
    assert answer.status == 0
    first, second = answer.stdout.splitlines()
    assert first.startswith("first: raise delivered in ")
    assert "; resolve delivered in " in second
    raised, resolved = sent(tmp_path, "second")
    assert (raised["kind"], resolved["kind"]) == ("raise", "resolve")
    assert raised["key"] == resolved["key"]
    assert raised["key"].endswith("/drill")
    assert raised["condition"] == "drill"
    assert raised["summary"].startswith("DRILL: ")
    assert raised["tags"] == {"team": "x", "drill": "true"}
    assert len(sent(tmp_path, "first")) == 2


def test_a_drill_leaves_no_trace_on_the_host(tmp_path: Path) -> None:
    config = configuration(tmp_path, {"alerts": [recorder(tmp_path, "page")]})
    clock_agent("--config", config, "drill")
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "run").exists()


def test_a_drill_fails_if_one_sink_fails_and_the_others_are_drilled_all_the_same(
    tmp_path: Path,
) -> None:
    alerts = [
        {"type": "command", "name": "bad", "argv": ["/bin/false"]},
        {"type": "webhook", "name": "hook", "url": "http://127.0.0.1:9/"},
        recorder(tmp_path, "page"),
    ]
    answer = clock_agent("--config", configuration(tmp_path, {"alerts": alerts}), "drill")
    assert answer.status == 2
    bad, hook, page = answer.stdout.splitlines()
    assert bad.startswith("bad: raise NOT delivered after ")
    assert "/bin/false exited with 1" in bad
    assert "refused" in hook
    assert page.startswith("page: raise delivered")
    assert len(sent(tmp_path, "page")) == 2


def test_a_sink_that_hangs_is_given_up(tmp_path: Path) -> None:
    hanging = executable(tmp_path / "hang", "#!/bin/sh\ntrap '' TERM\nsleep 600\n")
    alerts = [
        {"type": "command", "name": "hang", "argv": [hanging], "timeout": "300ms"},
        recorder(tmp_path, "page"),
    ]
    answer = clock_agent("--config", configuration(tmp_path, {"alerts": alerts}), "drill")
    assert answer.status == 2
    assert "hang: raise NOT delivered after " in answer.first
    assert len(sent(tmp_path, "page")) == 2
    assert answer.elapsed < 10


def test_a_drill_reaches_a_sink_for_critical_alerts_only(tmp_path: Path) -> None:
    alerts = [{**recorder(tmp_path, "page"), "min_severity": "critical"}]
    clock_agent("--config", configuration(tmp_path, {"alerts": alerts}), "drill")
    assert [alert["severity"] for alert in sent(tmp_path, "page")] == ["critical", "critical"]


def test_one_sink_is_drilled_when_asked_for_by_name(tmp_path: Path) -> None:
    alerts = [recorder(tmp_path, "first"), recorder(tmp_path, "second")]
    config = configuration(tmp_path, {"alerts": alerts})
    assert clock_agent("--config", config, "drill", "--sink", "second").status == 0
    assert sent(tmp_path, "first") == []
    assert len(sent(tmp_path, "second")) == 2
    answer = clock_agent("--config", config, "drill", "--sink", "third")
    assert answer.status == 3
    assert "there is no sink third; configured: first and second" in answer.stderr


def test_a_drill_without_any_sink_is_no_success(tmp_path: Path) -> None:
    answer = clock_agent("--config", configuration(tmp_path, {"alerts": []}), "drill")
    assert answer.status == 3
    assert "nobody would hear of anything" in answer.stderr
