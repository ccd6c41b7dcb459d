"""Opens twenty connections, says so, and waits for one of them to end; then says how."""
import socket, sys, time

def connect():
    while True:
        try:
            return socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
        except OSError:
            time.sleep(0.01)

held = [connect() for _ in range(20)]
held[0].sendall(b"GET /small HTTP/1.1\r\nHost: here\r\n\r\n")
assert held[0].recv(4) == b"HTTP"
print("open", flush=True)
held[1].settimeout(60)
try:
    print("ended" if held[1].recv(1) == b"" else "bytes", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
