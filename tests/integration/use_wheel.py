"""What a user of an installed pyusdt does, with nothing but it: the embedded engine on this process, a provider of one's own, a
sub-interpreter where there are any with a GIL of their own."""

import os
import sys

import pydtrace
import pyusdt

assert "site-packages" in pyusdt.__file__, pyusdt.__file__
assert pyusdt.available() and not pyusdt.p(1)
own = pyusdt.Provider("wheel").probe("made", int, str)
script = """pyusdt$1:::user_trace-i4s4 { printf("%d %s", arg2, copyinstr(arg6)); }
            wheel$1:::made { printf("%d %s", arg0, copyinstr(arg1)); }"""
with pyusdt.trace(script, os.getpid(), pid=os.getpid()) as t:
    assert pyusdt.p(7, "zwölf") and own(8, "made")
assert [record.values for record in t] == [(7, "zwölf"), (8, "made")]
if sys.version_info >= (3, 12):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
    from interpreters import create

    made = create()  # with a GIL of its own
    with pyusdt.trace(
        "pyusdt$1:::user_trace-i4s4 { trace(arg2); }", os.getpid(), pid=os.getpid()
    ) as t:
        made.exec("import pyusdt; assert pyusdt.p(9)")
    made.close()
    assert [record[0] for record in t] == [9]
assert os.path.exists(os.path.join(os.path.dirname(pydtrace.__file__), "scripts", "latency.d"))
print("path", pyusdt._core.__file__, "own", own.path)
