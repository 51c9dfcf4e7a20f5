"""The process that answers one request for a profile of `pyusdt serve --pprof`: it samples several
processes and writes pprof's file to its standard output.

Arguments: seconds, samples a second, process ids.
"""

from __future__ import annotations

import sys

from pydtrace.profile.pprof import encode_pprof
from pydtrace.profile.sample_clock import SampleClock
from pydtrace.profile.sampler import Sampler
from pydtrace.profile.sampler_options import RUNNING, WORDS, SamplerOptions
from pydtrace.profile.stack_profile import Profile
from pydtrace.untrusted.watchdog import watchdog

_RETRY = 1.0  # seconds between two tries to sample what was no Python
NO_PYTHON = 3  # exit status: none of the processes is a Python that can be sampled


def sample_processes(pids: list[int], seconds: float, hz: int) -> tuple[Profile, str]:
    """(the profile, why the last process that could not be sampled could not)."""
    profile = Profile(hz, WORDS[RUNNING])
    with watchdog("a process does not let its memory be read: gave up") as beat:
        options = SamplerOptions(RUNNING, lines=True, threads=True, stop=True)
        sampler = Sampler(profile, options, beat)
        for pid in pids:
            sampler.add_process(pid)
        clock, retry = SampleClock(hz, profile), 0.0
        try:
            while clock.seconds < seconds:
                if clock.seconds >= retry:
                    sampler.retry_waiting()
                    retry = clock.seconds + _RETRY
                if not sampler.sample_processes():
                    break
                sampler.run_rounds(clock, min(seconds - clock.seconds, _RETRY))
            profile.seconds = clock.seconds
        finally:
            sampler.close()
    return profile, str(sampler.no_python_reason or "")


def main() -> None:
    seconds, hz, *pids = sys.argv[1:]
    profile, why_none = sample_processes([int(pid) for pid in pids], float(seconds), int(hz))
    if not profile.rounds:
        print(why_none, file=sys.stderr)
        sys.exit(NO_PYTHON)
    title = f"process {pids[0]}" if len(pids) == 1 else f"{len(pids)} processes"
    sys.stdout.buffer.write(encode_pprof(profile, title))
