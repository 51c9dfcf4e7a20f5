"""Fixtures: a compiled script, and an output that is read back."""

from tests.support.made_up.sink_feeder import output, program  # noqa: F401 (fixtures)
