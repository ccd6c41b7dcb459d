"""A server for the workloads hello and json."""

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route


async def hello(request):
    return PlainTextResponse("hello")


async def greet(request):
    return JSONResponse({"message": "Hello, World!"})


app = Starlette(routes=[Route("/", hello), Route("/json", greet)])
