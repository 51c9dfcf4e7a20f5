"""An aiohttp server and its client in one program that knows nothing of pyusdt.

Input: how often.
Output: the server's port, and a port where nobody is.
"""

import asyncio
import contextlib
import socket
import sys

import aiohttp
from aiohttp import web

COUNT = int(sys.argv[1])


async def item(request):
    return web.Response(text=f"item {request.match_info['number']}")


async def bad(_request):
    raise ZeroDivisionError


async def stream(request):
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b"12345")
    return answer


async def talk(request):
    answer = web.WebSocketResponse()
    await answer.prepare(request)
    return answer


def application():
    made, inner = web.Application(), web.Application()
    inner.add_routes([web.get("/part/{number}", item)])
    made.add_routes(
        [
            web.get("/item/{number}", item),
            web.get("/bad", bad),
            web.get("/stream", stream),
            web.get("/talk", talk),
        ]
    )
    made.add_subapp("/inner", inner)
    return made


async def ask(session, refused):
    for number in range(COUNT):
        for path, status in [
            (f"/item/{number}?token=secret", 200),
            ("/bad", 500),
            ("/stream", 200),
            ("/nowhere", 404),
            ("/inner/part/1", 200),
        ]:
            async with session.get(path) as answer:
                assert answer.status == status
                await answer.read()
    async with session.ws_connect("/talk"):
        pass
    with contextlib.suppress(aiohttp.ClientConnectionError):
        await session.get(refused)


async def main():
    nobody = socket.socket()  # it does not listen
    nobody.bind(("127.0.0.1", 0))
    runner = web.AppRunner(application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port, free = site._server.sockets[0].getsockname()[1], nobody.getsockname()[1]
    print(port, free, flush=True)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        await ask(session, f"http://user:secret@127.0.0.1:{free}/")
    await runner.cleanup()


asyncio.run(main())
