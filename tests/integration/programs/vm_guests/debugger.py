"""pdb, which steps, sets a breakpoint and goes on."""

import io
import pdb  # noqa: T100

from counting import step, total


def double(x):
    y = x + x
    return y


out = io.StringIO()
commands = io.StringIO("step\nnext\nwhere\nbreak double\ncontinue\nprint(x)\ncontinue\n")
debugger = pdb.Pdb(stdin=commands, stdout=out, nosigint=True, readrc=False)
debugger.use_rawinput = False
step()
debugger.runcall(double, 1)
debugger.runcall(double, 2)
print(out.getvalue())
total()
