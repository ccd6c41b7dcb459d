"""The client of away.py: while that does not wait, bytes come on two connections, and a third one opens. Prints what it is told."""
import socket, sys, time

def connect():
    while True:
        try:
            return socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60)
        except OSError:
            time.sleep(0.01)

first, second = connect(), connect()
first.sendall(b"begin ")
assert first.recv(4) == b"away"
second.sendall(b"more")
third = connect()
first.sendall(b"end")
print(first.makefile().read(), end="")
