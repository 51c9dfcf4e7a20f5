"""A Starlette application that knows nothing of pyusdt, another one mounted in it; as a program it asks itself.

Input: the number of requests of each kind.
Output: nothing.
"""

import asyncio
import sys

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route


async def item(request):
    return PlainTextResponse(f"item {request.path_params['number']}")


async def bad(_request):
    return PlainTextResponse("no", status_code=503)


inner = Starlette(routes=[Route("/inner/{number}", item)])
application = Starlette(
    routes=[Route("/item/{number}", item), Route("/bad", bad), Mount("/mounted", inner)]
)


async def main(requests):
    import httpx

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=application), base_url="http://here"
    ) as client:
        for number in range(requests):
            assert (await client.get(f"/item/{number}")).text == f"item {number}"
            assert (await client.get("/bad")).status_code == 503
            assert (await client.get("/nowhere")).status_code == 404
            assert (await client.get(f"/mounted/inner/{number}")).text == f"item {number}"


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
