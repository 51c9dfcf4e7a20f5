"""Says which signals it gets, and needs the given seconds to clean up after the first; with "deaf": takes no notice of any."""

import os
import signal
import sys
import time

ended = []


def got(number: int, frame: object) -> None:
    os.write(1, f"got {signal.Signals(number).name}\n".encode())  # print() is not for handlers
    ended.append(number)


for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, got)
os.write(1, b"up\n")
while not ended or sys.argv[2:] == ["deaf"]:
    time.sleep(0.01)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    time.sleep(0.01)
os.write(1, b"clean\n")
