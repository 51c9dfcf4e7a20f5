"""A FastAPI application with a route that its event loop waits for; as a program it asks itself.  It knows nothing of pyusdt."""

import asyncio
import time

import httpx
from fastapi import APIRouter, FastAPI

items, application = APIRouter(), FastAPI()


@items.get("/item/{number}")
async def lazy(number: int):
    time.sleep(0.2)  # noqa: ASYNC251 - what the hook is to see
    return number


application.include_router(items, prefix="/api")


async def main():
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=application), base_url="http://here"
    ) as client:
        await asyncio.create_task(client.get("/api/item/3"))


asyncio.run(main())
