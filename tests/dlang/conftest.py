"""All tests here run under verifying.py's hook."""

from verifying import kernel_verifier  # noqa: F401  (an autouse fixture)
