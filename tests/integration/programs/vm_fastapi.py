"""A FastAPI application whose route counts its calls itself: /count answers with the number of those of /work."""

from fastapi import FastAPI

application = FastAPI()
calls = 0


@application.get("/work")
async def work():
    global calls
    calls += 1
    return "done"


@application.get("/count")
async def count():
    return calls
