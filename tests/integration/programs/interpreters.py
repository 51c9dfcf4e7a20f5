"""create(): a sub-interpreter, with exec(code) and close(), on each CPython.  It has a GIL of its own from 3.12 on."""

try:
    from concurrent.interpreters import create
except ImportError:  # before 3.14
    try:
        import _interpreters as made
    except ImportError:  # before 3.13
        import _xxsubinterpreters as made

    class create:
        def __init__(self):
            self.id = made.create()

        def exec(self, code):
            failed = made.run_string(self.id, code)
            assert failed is None, failed

        def close(self):
            made.destroy(self.id)
