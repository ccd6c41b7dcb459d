"""A small server on asyncio: files of a folder, and POST answered with what was sent. Ends with 9 when asked to."""
import asyncio, os, pathlib, signal, sys

FOLDER, PORT = pathlib.Path(sys.argv[1]), int(sys.argv[2])
HOST = sys.argv[4] if len(sys.argv) > 4 else "0.0.0.0"

async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, path, _ = head.split(" ", 2)
            length = [int(line.split(":")[1]) for line in head.lower().splitlines() if line.startswith("content-length:")]
            body = await reader.readexactly(length[0]) if length else (FOLDER / path[1:]).read_bytes()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            if method != "HEAD":
                writer.write(body)
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()

async def main():
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    server = await asyncio.start_server(serve, HOST, PORT)
    await ended.wait()

asyncio.run(main())
sys.exit(9)
