"""A FastAPI application with planted causes (why_shop.py), for uvicorn: why_uvicorn:application."""

import asyncio
import os
import sys
import time

import fastapi

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import why_shop

application = fastapi.FastAPI()


def add_route(cause):
    @application.get(f"/{cause}/{{number}}/{{every}}")
    def view(number: int, every: int):
        return why_shop.handle(cause, number, every)


for name in why_shop.CAUSES:
    add_route(name)


@application.get("/blocks/{number}/{every}")
async def blocks(number: int, every: int):
    await asyncio.sleep(0.001)
    if every and number % every == every - 1:
        time.sleep(why_shop.SLOW)  # noqa: ASYNC251 - that is the fault
    return "ok"


@application.get("/waits/{number}/{every}")
async def waits(number: int, every: int):
    await asyncio.sleep(0.001)
    return f"{number} {every}"
