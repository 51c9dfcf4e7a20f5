"""Where the checkout and its tests lie."""

import os

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
ORACLE = os.path.join(TESTS, "oracle", "oracle")  # runs the real dtrace
