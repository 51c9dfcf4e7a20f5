"""A program that sends requests by requests or httpx, and knows nothing of pyusdt.

Input: the client's name; the number of requests.
Output: the ports of the server, which is its own and answers 501, and of none.
"""

import asyncio
import http.server
import socket
import sys
import threading

server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
server.RequestHandlerClass.log_message = lambda *_: None
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://user:secret@127.0.0.1:{server.server_port}/nowhere?token=secret"
nobody = socket.socket()  # it does not listen
nobody.bind(("127.0.0.1", 0))
REFUSED = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
print(server.server_port, nobody.getsockname()[1], flush=True)


async def by_httpx(count):
    import httpx

    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(count - 1):
            await client.get(URL)
    with httpx.Client(trust_env=False) as client:
        client.get(URL)
        try:
            client.get(REFUSED)
        except httpx.ConnectError:
            pass


def by_requests(count):
    import requests

    session = requests.Session()
    session.trust_env = False
    for _ in range(count):
        session.get(URL)
    try:
        session.get(REFUSED)
    except requests.ConnectionError:
        pass


if sys.argv[1] == "httpx":
    asyncio.run(by_httpx(int(sys.argv[2])))
else:
    by_requests(int(sys.argv[2]))
