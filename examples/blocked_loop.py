"""An event loop that is blocked: one task waits for the bank in a blocking call, and no other task runs.

Run it and ask it:  pyusdt dump PID  (pyusdt help dump)."""

import asyncio
import socket

HERE, THERE = socket.socketpair()


def ask_bank() -> bytes:
    return HERE.recv(1)


async def pay() -> None:
    await asyncio.sleep(0.1)
    ask_bank()


async def tick() -> None:
    while True:
        await asyncio.sleep(0.01)


async def main() -> None:
    await asyncio.gather(
        asyncio.create_task(pay(), name="pay"), asyncio.create_task(tick(), name="tick")
    )


asyncio.run(main())
