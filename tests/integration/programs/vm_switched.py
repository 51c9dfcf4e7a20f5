"""Says what is set in the interpreter: with the provider and nobody tracing, while somebody does, and when that is over.

Output: three lines of JSON, each when it is so: {"monitoring": [events of each tool], "frames":
whether there is a frame hook, "profile": …, "trace": …, "gc": …, "import": …, "thread": …}.
"""

import ctypes
import gc
import json
import sys
import threading
import time

import pyusdt.vm


def has_frame_hook():
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = python._PyInterpreterState_GetEvalFrameFunc.restype = (
        ctypes.c_void_p
    )
    there = python._PyInterpreterState_GetEvalFrameFunc(
        ctypes.c_void_p(python.PyInterpreterState_Get())
    )
    return there != ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p).value


def state():
    monitoring = getattr(sys, "monitoring", None)
    tools = [tool for tool in range(6) if monitoring and monitoring.get_tool(tool)]
    return {
        "monitoring": [monitoring.get_events(tool) for tool in tools],
        "frames": has_frame_hook(),
        "profile": sys.getprofile() is not None,
        "trace": sys.gettrace() is not None,
        "gc": len(gc.callbacks),
        "import": type(sys.modules["_frozen_importlib"]._find_and_load).__name__,
        "thread": type(threading.Thread.__dict__["_bootstrap_inner"]).__name__,
    }


def changes(before):
    """The next state that is another."""
    end = time.monotonic() + 30
    while state() == before and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.3)  # it is set one by one
    return state()


def say(what):
    print(json.dumps(what), flush=True)
    return what


pyusdt.vm.enable()
time.sleep(0.3)
say(changes(say(changes(say(state())))))
