"""The sources of the C core that a traced process needs."""

from tests.support.core.programs import ROOT


def target_sources():
    """What a traced process needs of the core, as in setup.py."""
    return sorted(
        path for folder in ("target", "shared") for path in (ROOT / "c" / folder).glob("*.c")
    )
