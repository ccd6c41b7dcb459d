"""A server for hello, json and the database types with Starlette, run by uvicorn."""

import os
import random
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path

import asyncpg
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.routing import Route

ROWS = 10_000
MAX_QUERIES = 500
CONNECTIONS = 16  # to the database, for each worker process
SELECT = "SELECT id, randomnumber FROM world WHERE id = $1"
UPDATE = """UPDATE world SET randomnumber = new.number
    FROM (SELECT unnest($1::int[]) AS id, unnest($2::int[]) AS number) AS new WHERE world.id = new.id"""


@asynccontextmanager
async def database(app):
    """Connects before the first request and for as long as the server lives."""
    if not URL:
        yield
        return
    async with asyncpg.create_pool(URL, min_size=1, max_size=CONNECTIONS) as pool:
        app.state.pool = pool
        app.state.cache = [world(row) for row in await pool.fetch("SELECT id, randomnumber FROM world")]
        yield


async def hello(request):
    return PlainTextResponse("hello")


async def plaintext(request):
    return PlainTextResponse("Hello, World!")


async def byte(request):
    return PlainTextResponse("!")


async def body(request):
    text = BODIES.get(request.path_params["name"])
    return PlainTextResponse("not found", 404) if text is None else PlainTextResponse(text)


async def json(request):
    return JSONResponse({"message": "Hello, World!"})


async def one(request):
    row = await request.app.state.pool.fetchrow(SELECT, random_id())
    return JSONResponse(world(row))


async def many(request):
    ids = [random_id() for _ in range(wanted(request, "queries"))]
    async with request.app.state.pool.acquire() as connection:
        return JSONResponse(await read(connection, ids))


async def update(request):
    # In the order of their ids, so that two requests cannot wait for each other's locks.
    ids = sorted(random.sample(range(1, ROWS + 1), wanted(request, "queries")))
    async with request.app.state.pool.acquire() as connection:
        worlds = await read(connection, ids)
        for row in worlds:
            row["randomNumber"] = other_than(row["randomNumber"])
        await connection.execute(UPDATE, ids, [row["randomNumber"] for row in worlds])
    return JSONResponse(worlds)


async def cached(request):
    rows = request.app.state.cache
    return JSONResponse([rows[random_id() - 1] for _ in range(wanted(request, "count"))])


async def fortunes(request):
    rows = [tuple(row) for row in await request.app.state.pool.fetch("SELECT id, message FROM fortune")]
    rows.append((0, "Additional fortune added at request time."))
    rows.sort(key=lambda row: row[1])
    lines = "".join(f"<tr><td>{number}</td><td>{escape(message)}</td></tr>" for number, message in rows)
    return HTMLResponse(
        "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>"
        f"<tr><th>id</th><th>message</th></tr>{lines}</table></body></html>"
    )


async def read(connection, ids):
    """Each row with a query of its own, on one connection."""
    select = await connection.prepare(SELECT)
    return [world(await select.fetchrow(number)) for number in ids]


def world(row):
    return {"id": row["id"], "randomNumber": row["randomnumber"]}


def wanted(request, name):
    """How many rows are wanted: 1 when it is no number or too small, 500 at most."""
    try:
        return min(max(int(request.query_params.get(name, 1)), 1), MAX_QUERIES)
    except ValueError:
        return 1


def random_id():
    return random.randint(1, ROWS)


def other_than(current):
    """A number other than the row's own: writing the same again would change nothing."""
    while (number := random_id()) == current:
        pass
    return number


URL = os.environ.get("DATABASE_URL")
BODIES = {path.name: path.read_bytes() for path in Path(os.environ["FILES"], "body").iterdir()}
PLAIN = {"/": hello, "/plaintext": plaintext, "/byte": byte, "/json": json, "/body/{name}": body}
DATABASE = {"/db": one, "/queries": many, "/updates": update, "/cached-queries": cached, "/fortunes": fortunes}
ROUTES = PLAIN | (DATABASE if URL else {})
app = Starlette(routes=[Route(path, answer) for path, answer in ROUTES.items()], lifespan=database)
