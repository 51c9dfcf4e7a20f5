"""What `pydtrace` and `pyusdt` print if nothing is asked of them: commands to begin with.

- dtrace prints its options then. DTrace's own tests compare that, so they still get it.
"""

PYDTRACE = """\
pydtrace -c 'python app.py' -n 'python$target:::function-entry { @[probefunc] = count(); }'
pydtrace -l -p PID                 lists the probes of a process
pydtrace -s script.d -p PID        runs a script; `pyusdt scripts` lists those that are installed
pydtrace --html page.html -s …     writes what a script counts as a page; --live shows it on the terminal
pydtrace --help lists the options. `pyusdt help tutorial` explains the language.
"""

PYUSDT = """\
pyusdt profile PID                 shows which functions of a Python program take the time
pyusdt dump PID                    shows the stacks of all its threads, now
pyusdt trace latency -p PID        runs a script; `pyusdt scripts` lists all, `pyusdt attach PID` brings probes in
pyusdt doctor PID                  shows what keeps tracing from working, and what to do about it
pyusdt --help lists the commands. `pyusdt help first-heat-map` is the first page to read.
"""
