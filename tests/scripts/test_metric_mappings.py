"""scripts/metrics: a mapping for each script that it names, and rules that ask for metrics that there are."""

import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.options import Options
from pydtrace.sinks.metrics import metric_config, prometheus_model

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
MAPS = sorted(SCRIPTS.glob("metrics/*.map"))
RULES = SCRIPTS / "metrics" / "rules.yml"
OWN = {"pydtrace_lost_total", "pydtrace_overflowed_keys"}


def said(path):
    """Its first line: the command that it is for."""
    return path.read_text().split("\n")[0]


def meanings(path):
    """What a mapping makes of its script."""
    compiler = Compiler(Options(), default_macros(0))
    compiler.arguments = [path.stem, *said(path).rpartition(path.name)[2].split()]
    script = SCRIPTS / f"{path.stem}.d"
    compiler.compile_text(script.read_bytes(), str(script))
    definitions = compiler.generate_program().aggregations
    return metric_config.complete_specs(
        metric_config.read_specs(metric_config.read_lines(str(path)), definitions), definitions, []
    )


def test_there_are_some():
    assert len(MAPS) > 5


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_a_mapping_names_all_of_its_script(path):
    made, unmapped = meanings(path)
    assert unmapped == []
    assert all(
        meaning.labels is not None and "key1" not in meaning.labels for meaning in made.values()
    )
    assert said(path).startswith(
        f"# pydtrace -q --metrics 9464 -s scripts/{path.stem}.d -x metrics=scripts/metrics/{path.name}"
    )


def test_names_are_of_one_script():
    """So that one Prometheus can ask all of them."""
    names = [meaning.name for path in MAPS for meaning in meanings(path)[0].values()]
    assert len({*names}) == len(names)


def test_rules_ask_for_what_there_is():
    asked = set(
        re.findall(r"\b(?:app|pydtrace)_\w+\b(?!:)", re.sub(r"\w+:\w+:\w+", "", RULES.read_text()))
    )
    names = {meaning.name for path in MAPS for meaning in meanings(path)[0].values()}
    assert asked - OWN and {re.sub("_(total|bucket)$", "", each) for each in asked - OWN} <= names
    assert {re.sub("_total$", "", each) for each in OWN} <= set(prometheus_model.TRACER_METRICS)


@pytest.mark.skipif(
    shutil.which("promtool") is None and "CI" not in os.environ, reason="host: no prometheus"
)
def test_rules_are_rules():
    done = subprocess.run(
        ["promtool", "check", "rules", RULES],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr


# ---- the dashboard ----


def expressions():
    board = json.loads((SCRIPTS / "metrics" / "grafana.json").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def test_the_dashboard_is_what_its_script_makes():
    """In Grafana's schema, whose own SDK writes it, and reads it again."""
    made = runpy.run_path(str(SCRIPTS / "metrics" / "make_dashboard.py"))["made"]()
    assert (SCRIPTS / "metrics" / "grafana.json").read_text() == made
    read = Dashboard.from_json(json.loads(made))
    assert json.loads(JSONEncoder(sort_keys=True).encode(read)) == json.loads(made)


def test_the_dashboard_asks_for_what_there_is():
    asked = {name for each in expressions() for name in re.findall(r"\b(?:app|pydtrace)_\w+", each)}
    names = {meaning.name for path in MAPS for meaning in meanings(path)[0].values()} | {
        *prometheus_model.TRACER_METRICS
    }
    units = {
        f"{meaning.name}_{meaning.unit}"
        for path in MAPS
        for meaning in meanings(path)[0].values()
        if meaning.unit
    }
    assert (
        len(asked) > 8
        and {re.sub("_(total|bucket|count)$", "", each) for each in asked} <= names | units
    )


@pytest.mark.skipif(
    shutil.which("promtool") is None and "CI" not in os.environ, reason="host: no prometheus"
)
def test_its_questions_are_promql(tmp_path):
    rules = [
        {"record": f"a:b{number}", "expr": each.replace("$__rate_interval", "1m")}
        for number, each in enumerate(expressions())
    ]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "asked", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", tmp_path / "rules.yml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and f"SUCCESS: {len(rules)} rules" in done.stdout, (
        done.stdout + done.stderr
    )
