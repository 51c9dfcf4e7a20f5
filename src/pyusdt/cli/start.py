"""The command `pydtrace`, until the rest of it is imported: for a tenth of a second.

Always: Ctrl-C ends it then as it ends a dtrace that has not started to trace, without a traceback.
"""

import signal


def pydtrace():
    """Does not return."""
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where who started us ignores it
    if interrupts:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .pydtrace import main

    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
