"""Waiting for sockets and pipes, in every manner. What it prints must be the same on every stack."""
import ctypes, errno, os, select, signal, socket, threading, time

NAMES = {v: k for k, v in vars(select).items() if k.startswith("EPOLL") and k not in ("EPOLL_CLOEXEC", "EPOLLRDNORM", "EPOLLWRNORM")}

def told(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]

def pair():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    return listener, client, server

def read(events):
    return [(names.get(fd, fd), [NAMES[1 << b] for b in range(16) if flags & 1 << b]) for fd, flags in sorted(events)]

def wait(seconds=0.0):
    return read(epoll.poll(seconds, 8))

def settled():
    """What is ready when all that is on its way has arrived."""
    time.sleep(0.03)
    return wait()

listener, client, server = pair()
reader, writer = os.pipe()
names = {listener.fileno(): "listener", server.fileno(): "server", reader: "pipe"}
epoll = select.epoll()
epoll.register(listener, select.EPOLLIN)
epoll.register(server, select.EPOLLIN)
epoll.register(reader, select.EPOLLIN)
print("nothing", wait(), wait(0.02))
print("again", told(epoll.register, server, select.EPOLLIN), told(epoll.modify, client, select.EPOLLIN))
client.sendall(b"abc")
print("level", wait(5), wait(5), server.recv(2), wait(5), server.recv(2), settled())
os.write(writer, b"p")
print("pipe", wait(5))
client.sendall(b"x")
print("both", settled())
os.read(reader, 1)
server.recv(1)
third = socket.create_connection(listener.getsockname())
print("listener", settled())
listener.accept()[0].close()
print("accepted", settled(), third.recv(1))

epoll.modify(server, select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET)
print("edge of room", wait(5), wait())
client.sendall(b"abc")
print("edge", settled(), wait(), server.recv(1), wait())
client.sendall(b"def")
print("next edge", settled(), server.recv(9), wait())
epoll.modify(server, select.EPOLLIN | select.EPOLLET | select.EPOLLONESHOT)
client.sendall(b"1")
print("one shot", settled())
client.sendall(b"2")
print("spent", settled())
epoll.modify(server, select.EPOLLIN | select.EPOLLONESHOT)
print("armed", wait(5), server.recv(9))
epoll.unregister(server)
print("unregistered", told(epoll.unregister, server))
client.sendall(b"3")
print("unwatched", settled(), server.recv(9))

epoll.register(server, select.EPOLLOUT)
server.setblocking(False)
sent = 0
try:
    while True:
        sent += server.send(bytes(1 << 20))
except BlockingIOError:
    print("full", wait())
def drink():
    left = sent
    while left:
        left -= len(client.recv(1 << 20))
thread = threading.Thread(target=drink)
thread.start()
print("room", wait(5))
thread.join()
epoll.modify(server, select.EPOLLIN | select.EPOLLRDHUP)
client.shutdown(socket.SHUT_WR)
print("their end", settled())
server.shutdown(socket.SHUT_WR)
print("both ends", settled())
server.close()
print("closed", wait())

listener, client, server = pair()
poll = select.poll()
poll.register(server, select.POLLIN | select.POLLOUT)
poll.register(reader, select.POLLIN)
names[server.fileno()] = "server"
print("poll", read(poll.poll(0)))
client.sendall(b"abc")
os.write(writer, b"p")
time.sleep(0.03)
print("poll", read(poll.poll(1000)))
def selected(timeout):
    return [[names[getattr(s, "fileno", lambda: s)()] for s in part] for part in select.select([server, reader, listener], [server], [], timeout)]
print("select", selected(0), server.recv(9), os.read(reader, 1), selected(0))
print("select waits", select.select([server], [], [], 0.02))

inner = select.epoll()
inner.register(listener, select.EPOLLIN)
inner.register(server, select.EPOLLIN | select.EPOLLET)
inner.register(reader, select.EPOLLIN)
asked = select.poll()
asked.register(inner, select.POLLIN | select.POLLOUT)
def has():
    """Whether the epoll instance has anything, by poll, by select, and by itself."""
    time.sleep(0.03)
    return [len(asked.poll(0)), len(select.select([inner], [inner], [], 0)[0]), sorted(names[fd] for fd, _ in inner.poll(0))]
print("an instance has nothing", len(asked.poll(0)), len(asked.poll(20)), has())
os.write(writer, b"p")
print("a pipe", [flags for _, flags in asked.poll(5000)], has(), os.read(reader, 1), has())
client.sendall(b"edge")
print("an edge", has(), has(), server.recv(9), has())
third = socket.create_connection(listener.getsockname())
print("a listener", has(), has())
listener.accept()[0].close()
print("nothing again", has())
for what, call in {"a socket": lambda: client.sendall(b"x"), "a pipe": lambda: os.write(writer, b"p")}.items():
    timer = threading.Timer(0.05, call)
    timer.start()
    print("poll waits for", what, [flags for _, flags in asked.poll(20_000)], has())
    timer.join()
print(server.recv(9), os.read(reader, 1), has())
inner.close()

class Rung(Exception):
    pass
def ring(*_):
    raise Rung
signal.signal(signal.SIGALRM, ring)
epoll = select.epoll()
epoll.register(server, select.EPOLLIN)
waits = {
    "epoll": lambda: epoll.poll(20),
    "poll": lambda: select.poll().poll(20_000) if False else polled(),
    "select": lambda: select.select([server], [], [], 20),
    "recv": lambda: server.recv(1),
    "accept": lambda: listener.accept(),
}
def polled():
    poll = select.poll()
    poll.register(server, select.POLLIN)
    return poll.poll(20_000)
for name, call in waits.items():
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    began = time.monotonic()
    try:
        call()
    except Rung:
        print("a signal ends", name, time.monotonic() - began < 10)

def late():
    time.sleep(0.05)
    client.sendall(b"late")
for name, call in {"recv": lambda: server.recv(9), "epoll": lambda: (len(epoll.poll(20)), server.recv(9))}.items():
    thread = threading.Thread(target=late)
    thread.start()
    print("another thread wakes", name, call())
    thread.join()

early = select.epoll()
seen = []
waiter = threading.Thread(target=lambda: seen.append(early.poll(20)))
waiter.start()
time.sleep(0.05)
early.register(server, select.EPOLLIN)
client.sendall(b"early")
waiter.join()
print("a wait that began before", len(seen[0]), server.recv(9), early.poll(0))

EDGE = select.EPOLLIN | select.EPOLLOUT | select.EPOLLET
def fresh(name, flags):
    made = socket.socket()
    made.setblocking(False)
    names[made.fileno()] = name
    epoll.register(made, flags)
    return made
epoll = select.epoll()
listener = fresh("listener", select.EPOLLET)
print("watched before bind", wait(), wait())
listener.bind(("127.0.0.1", 0))
listener.listen(5)
epoll.modify(listener, select.EPOLLIN | select.EPOLLET)
print("listens", settled())
client = fresh("client", EDGE)
print("watched before connect", wait())
client.connect_ex(listener.getsockname())
print("connects", settled(), wait())
server, _ = listener.accept()
client.send(b"abc")
print("came", server.recv(9), settled())
level = fresh("level", select.EPOLLIN)
level.bind(("127.0.0.1", 0))
level.listen(5)
print("never changed", wait())
client = socket.create_connection(level.getsockname())
print("came", settled())
level.close()
spent = fresh("spent", select.EPOLLIN | select.EPOLLONESHOT)
print("spent", wait(), wait())
spent.bind(("127.0.0.1", 0))
spent.listen(5)
client = socket.create_connection(spent.getsockname())
print("still", settled())
epoll.modify(spent, select.EPOLLIN | select.EPOLLONESHOT)
print("armed", wait(5), wait())
epoll.unregister(spent)
print("unregistered", told(epoll.unregister, spent), settled())
other = select.epoll()
print("not watched", told(other.modify, server, select.EPOLLIN), told(other.unregister, server))

libc = ctypes.CDLL(None, use_errno=True)
EPOLL_PWAIT2 = 441
class Event(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("events", ctypes.c_uint32), ("data", ctypes.c_uint64)]
def pwait2(epoll, seconds):
    """As Netty waits, with syscall(2)."""
    room = (Event * 8)()
    n = libc.syscall(EPOLL_PWAIT2, epoll.fileno(), room, 8, (ctypes.c_long * 2)(seconds, 0), None, 8)
    return [(event.events, event.data & 0xFFFFFFFF == server.fileno()) for event in room[:n]]
listener, client, server = pair()
early = select.epoll()
seen = []
waiter = threading.Thread(target=lambda: seen.append(pwait2(early, 20)))
waiter.start()
time.sleep(0.05)
early.register(server, select.EPOLLIN)
client.sendall(b"early")
waiter.join()
print("a wait by number that began before", seen, server.recv(9), pwait2(early, 0))
