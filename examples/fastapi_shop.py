"""A FastAPI application that knows nothing of pyusdt. `pyusdt help fastapi` traces it.

uvicorn fastapi_shop:app
"""

import asyncio
import time

from fastapi import FastAPI

app = FastAPI()


@app.get("/item/{number}")
async def item(number: int):
    await asyncio.sleep(0.002)
    return number


@app.get("/report")
async def report():
    time.sleep(0.15)  # noqa: ASYNC251 - the mistake to find: no other request is answered meanwhile
    return "done"
