"""The client of away.py: while that does not wait, bytes come on fifty connections, and another one opens. Prints what it is told."""
import pathlib, socket, sys, time

HOST, PORT, FOLDER = sys.argv[1:]

give_up = time.monotonic() + 60

def connect():
    while True:
        try:
            return socket.create_connection((HOST, int(PORT)), timeout=20)
        except OSError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.01)

first, *others = [connect() for _ in range(50)]
first.sendall(b"begin")
assert first.recv(4) == b"away"
for other in others:
    other.sendall(b"more")
pathlib.Path(FOLDER, "sent").touch()
another = connect()
first.sendall(b" end")
print(first.makefile().read(), end="")
