"""A server that does not wait while it has something to do. First it makes no call at all until its client has sent on fifty
connections, and then expects one call to bring all of that. Then it looks at the same bytes again and again until `end` has come
behind them, and tells its client what else has happened meanwhile."""
import os, select, socket, sys, time

FOLDER, PORT = sys.argv[1:]
listener = socket.create_server(("0.0.0.0", int(PORT)))
listener.setblocking(False)
events = select.epoll()
events.register(listener, select.EPOLLIN)

def wait_for(socket):
    assert (socket.fileno(), select.EPOLLIN) in events.poll(60)

def accept():
    wait_for(listener)
    return listener.accept()[0]

first, second, *others = [accept() for _ in range(50)]
last = others[-1]
events.register(first, select.EPOLLIN)
events.register(second, select.EPOLLIN | select.EPOLLET)
wait_for(first)

def until(holds):
    give_up = time.monotonic() + 30
    while not holds() and time.monotonic() < give_up:
        pass

# It waits, so that this has left when it returns.
first.sendall(b"away")
first.setblocking(False)
last.setblocking(False)
until(lambda: os.path.exists(FOLDER + "/sent"))
# Away for longer than a call lets pass between two looks at the wire.
time.sleep(0.05)
seen = [first.recv(9, socket.MSG_PEEK), last.recv(9)]
until(lambda: first.recv(9, socket.MSG_PEEK).endswith(b"end"))
heard = b" ".join([*seen, first.recv(9)]).decode()
names = {listener.fileno(): "listener", second.fileno(): "second"}
told = lambda: " ".join(sorted(names[fd] for fd, _ in events.poll(0)))
first.setblocking(True)
first.sendall(f"{heard}, then {told()}, then {told()}\n".encode())
first.close()
