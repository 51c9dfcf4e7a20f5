"""How many probes a script's descriptions stand for is looked up once a description, and by name, however many probes the
machine's other processes have."""

import types

from pydtrace import _tracer
from pydtrace.engine.embedded.engine import EmbeddedEngine

PROCESSES, CLAUSES = 20, 200


def test_many_clauses_and_many_processes_take_few_comparisons(monkeypatch):
    known = [
        (pid, f"pyusdt{pid}", "python3", "fire", f"user_trace-n{n}", (), 0, 0)
        for pid in range(PROCESSES)
        for n in range(950)
    ]
    own = [("dtrace", "", "", name) for name in ("BEGIN", "END", "ERROR")]
    engine = EmbeddedEngine.__new__(EmbeddedEngine)
    engine._consumer = types.SimpleNamespace(
        probes=lambda: len(own), probe=lambda number: own[number - 1]
    )
    descriptions = [
        types.SimpleNamespace(provider=provider, module="", function="", name=name)
        for provider, name in [("dtrace", "BEGIN")] * CLAUSES
        + [("pyusdt*", "user_trace-n7"), ("pyusdt1*", "*-n94?")]
    ]
    engine._all_descriptions = lambda: descriptions
    compared, glob = [], _tracer.glob
    monkeypatch.setattr(
        _tracer, "glob", lambda pattern, text: compared.append(text) or glob(pattern, text)
    )
    counted = engine._count_matches(known)
    assert [desc for desc, _ in counted] == descriptions
    assert {count for _, count in counted[:CLAUSES]} == {1}
    assert [count for _, count in counted[CLAUSES:]] == [
        PROCESSES,
        11 * 10,
    ]  # pyusdt1 and pyusdt10 to pyusdt19
    assert len(compared) < len(known)
