"""A FastAPI application of routers and mounts that knows nothing of pyusdt; as a program it asks itself.

Input: the number of requests of each kind.
Output: nothing.
"""

import asyncio
import os
import sys

import httpx
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

items, inner, application, sub = APIRouter(), APIRouter(prefix="/in"), FastAPI(), FastAPI()


@items.get("/item/{number}")
def item(number: int):
    return number


@application.get("/top")
async def top():
    return 0


inner.include_router(items)
application.include_router(items, prefix="/api/v1")
application.include_router(inner, prefix="/api/v2")
sub.include_router(items)
application.mount("/sub/{tenant}", sub)
application.mount(
    "/star", Starlette(routes=[Route("/inner/{number}", lambda _: PlainTextResponse("1"))])
)
application.mount("/files", StaticFiles(directory=os.path.dirname(__file__)))


async def main(requests):
    paths = [
        "/api/v1/item/3",
        "/api/v2/in/item/4",
        "/top",
        "/sub/shop/item/5",
        "/star/inner/6",
        f"/files/{os.path.basename(__file__)}",
    ]
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=application), base_url="http://here"
    ) as client:
        for path in paths * requests:
            assert (await client.get(path)).status_code == 200, path


asyncio.run(main(int(sys.argv[1])))
