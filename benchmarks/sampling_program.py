"""What benchmarks/sampling.py samples: python sampling_program.py NAME TURNS, or the WSGI application of this module.

Output: JSON: seconds of wall and processor time for so many runs of a program of vm_programs; the
application answers with its process and the processor time that this has taken.
"""

import json
import os
import sys
import time

import vm_programs

_rendered = []


def application(_, start_response):
    """Renders a table; the template is made at the first request."""
    if not _rendered:
        _rendered.append(vm_programs.jinja2())
    _rendered[0]()
    body = json.dumps([os.getpid(), os.getppid(), time.process_time()]).encode()
    start_response(
        "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    )
    return [body]


def main():
    run = vm_programs.PROGRAMS[sys.argv[1]]()
    run()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(int(sys.argv[2])):
        run()
    print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]), flush=True)


if __name__ == "__main__":
    main()
