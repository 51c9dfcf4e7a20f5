"""All tests here run under verifier_hook.py's hook."""

from tests.support.compiler.verifier_hook import kernel_verifier  # noqa: F401  (an autouse fixture)
