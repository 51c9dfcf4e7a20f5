"""Makes objects of a class of its own, lets most of them go, and prints how many as JSON.  It knows nothing of pyusdt.

Arguments: how many.

Output: {"what": count}, on one line.
"""

import json
import os
import sys

MADE = int((sys.argv[1:] or [100])[0])


class Own:
    __slots__ = ()


kept = [Own() for _ in range(3)]
for _ in range(MADE - 3):
    Own()
print(json.dumps({"made": MADE, "freed": MADE - 3}), flush=True)
os._exit(0)  # the interpreter frees the others at its end
