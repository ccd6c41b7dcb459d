"""A server that does not wait while it has something to do: it looks at the same bytes again and again until `end` has come behind
them, and then tells its client what else has happened meanwhile."""
import select, socket, sys, time

def wait_for(events, socket):
    assert (socket.fileno(), select.EPOLLIN) in events.poll(60)

listener = socket.create_server(("0.0.0.0", int(sys.argv[2])))
listener.setblocking(False)
events = select.epoll()
events.register(listener, select.EPOLLIN)
connections = []
for _ in range(2):
    wait_for(events, listener)
    connections.append(listener.accept()[0])
first, second = connections
first.setblocking(False)
events.register(first, select.EPOLLIN)
events.register(second, select.EPOLLIN | select.EPOLLET)
wait_for(events, first)

first.send(b"away")
give_up = time.monotonic() + 30
while not first.recv(9, socket.MSG_PEEK).endswith(b"end") and time.monotonic() < give_up:
    pass
heard = first.recv(9).decode()
names = {listener.fileno(): "listener", second.fileno(): "second"}
told = lambda: " ".join(sorted(names[fd] for fd, _ in events.poll(0)))
first.setblocking(True)
first.sendall(f"{heard}, then {told()}, then {told()}\n".encode())
first.close()
