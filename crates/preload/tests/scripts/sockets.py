"""Calls on sockets, one after the other. What it prints must be the same on every stack."""
import array, errno, fcntl, os, select, socket, struct, tempfile, termios, threading

def told(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))

def pair(family=socket.AF_INET, host="127.0.0.1"):
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((host, 0))
    listener.listen(5)
    client = socket.create_connection(listener.getsockname()[:2])
    server, peer = listener.accept()
    print("names", client.getsockname() == peer == server.getpeername(), client.getpeername()[:2] == listener.getsockname()[:2],
          server.getsockname() == listener.getsockname(), server.family == family)
    return listener, client, server

def unread(s):
    number = array.array("i", [0])
    fcntl.ioctl(s, termios.FIONREAD, number)
    return number[0]

listener, client, server = pair()
print("options", [s.getsockopt(socket.SOL_SOCKET, o) for s in (listener, client, server)
                  for o in (socket.SO_TYPE, socket.SO_ERROR, socket.SO_ACCEPTCONN, socket.SO_DOMAIN, socket.SO_PROTOCOL)])
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print("nodelay", server.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

def state(s):
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]

print("states", [state(s) for s in (listener, client, server)])

client.sendall(b"0123456789")
print("peek", server.recv(4, socket.MSG_PEEK), server.recv(4))
print("unread", unread(server))
parts = [bytearray(2), bytearray(8)]
print("recvmsg", server.recvmsg_into(parts)[:3:2], parts)
print("sendmsg", server.sendmsg([b"ab", b"", b"cd"]), client.recv(4, socket.MSG_WAITALL))
print("readv", os.writev(client.fileno(), [b"x", b"yz"]), os.readv(server.fileno(), parts), parts)
print("write", os.write(client.fileno(), b"plain"), os.read(server.fileno(), 99))

server.setblocking(False)
print("nothing", told(server.recv, 1), told(listener.gettimeout))
server.settimeout(0.05)
try:
    server.recv(1)
except TimeoutError:
    print("timeout")
server.settimeout(None)
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50_000))
print("SO_RCVTIMEO", told(server.recv, 1))
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))

big = bytes(range(256)) * 16384
got = bytearray()
def drink():
    while len(got) < len(big):
        got.extend(server.recv(65536))
thread = threading.Thread(target=drink)
thread.start()
client.sendall(big)
thread.join()
print("megabytes", got == big)

with tempfile.TemporaryFile() as file:
    file.write(big)
    file.flush()
    thread = threading.Thread(target=lambda: [got.clear(), drink()])
    thread.start()
    sent = 1000
    while sent < len(big):
        sent += os.sendfile(client.fileno(), file.fileno(), sent, len(big))
    client.sendall(big[:1000])
    thread.join()
    print("sendfile", got == big[1000:] + big[:1000], os.sendfile(client.fileno(), file.fileno(), len(big), 10))
    file.seek(7)
    print("sendfile moves", os.sendfile(client.fileno(), file.fileno(), None, 5), file.tell(), server.recv(9))

other = socket.socket(fileno=os.dup(server.fileno()))
server.close()
client.sendall(b"dup")
print("dup", other.recv(3))
os.dup2(other.fileno(), listener.fileno())
client.sendall(b"dup2")
print("dup2", listener.recv(4), told(listener.accept))

client.shutdown(socket.SHUT_WR)
print("half", other.recv(1), told(client.send, b"x"), other.send(b"still"), client.recv(9))
other.shutdown(socket.SHUT_WR)
print("end", client.recv(1), told(other.send, b"x"))
for s in (listener, client, other):
    s.close()

listener, client, server = pair(socket.AF_INET6, "::1")
server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
server.close()
print("reset", told(client.recv, 1), client.recv(1), told(client.send, b"x"))
address = listener.getsockname()
listener.close()
lonely = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
print("refused", told(lonely.connect, address))
lonely = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
lonely.setblocking(False)
print("in progress", told(lonely.connect, address))

def refused_twice(*told_between):
    tries = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    tries.setblocking(False)
    first = told(tries.connect, address)
    select.select([], [tries], [], 5)
    if told_between:
        print("told", errno.errorcode[tries.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)])
    second = told(tries.connect, address)
    third = told(tries.connect, address)
    print("again", first, second, third)
refused_twice()
refused_twice("by an option")
lonely = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
print("refused", told(lonely.connect, address), told(lonely.connect, address))
listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(address)
listener.listen()
print("connects at last", told(lonely.connect, address), lonely.getpeername()[1] == address[1], told(lonely.connect, address))
listener.close()

listener, client, server = pair()
client.sendall(b"came before")
while unread(server) < 11:
    pass
server.shutdown(socket.SHUT_RD)
print("receiving ended", server.recv(4), server.recv(99), server.recv(99), server.send(b"x"), client.recv(9))

OPTIONS = [(socket.SOL_SOCKET, socket.SO_LINGER, "ii"), (socket.SOL_SOCKET, socket.SO_RCVTIMEO, "ll"), (socket.SOL_SOCKET, socket.SO_SNDTIMEO, "ll"),
           (socket.SOL_SOCKET, socket.SO_KEEPALIVE, "i"), (socket.IPPROTO_TCP, socket.TCP_NODELAY, "i"), (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, "i"),
           (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, "i"), (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, "i"), (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, "i")]
def values(s):
    return [struct.unpack(kind, s.getsockopt(level, name, struct.calcsize(kind))) for level, name, kind in OPTIONS]
def put(s, name, *numbers):
    level, name, kind = next(option for option in OPTIONS if option[1] == name)
    s.setsockopt(level, name, struct.pack(kind, *numbers))
def accepted():
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    return client, server
listener = socket.socket()
put(listener, socket.SO_LINGER, 1, 0)
put(listener, socket.SO_RCVTIMEO, 0, 100_000)
put(listener, socket.TCP_NODELAY, 1)
listener.bind(("127.0.0.1", 0))
listener.listen()
client, server = accepted()
print("inherits patience", told(os.read, server.fileno(), 1))
server.close()
print("inherits resets", told(client.recv, 1))
client, server = accepted()
put(server, socket.SO_LINGER, 0, 0)
put(server, socket.SO_RCVTIMEO, 0, 50_000)
print("changes its own", values(server))
other = socket.socket(fileno=os.dup(server.fileno()))
print("by each descriptor", values(other), told(os.read, server.fileno(), 1))
other.close()
server.close()
print("ends in order", told(client.recv, 1))
put(listener, socket.SO_LINGER, 0, 0)
put(listener, socket.SO_RCVTIMEO, 0, 0)
put(listener, socket.SO_KEEPALIVE, 1)
put(listener, socket.TCP_KEEPIDLE, 77)
put(listener, socket.TCP_USER_TIMEOUT, 5000)
client, server = accepted()
print("inherits what changed", values(server), values(listener) == values(server))
server.close()
print("ends in order", told(client.recv, 1))

unconnected = socket.socket()
print("unconnected", told(unconnected.getpeername), told(unconnected.recv, 1), told(unconnected.accept))
first = socket.socket()
first.bind(("127.0.0.1", 0))
first.listen()
print("listen twice", first.listen(3), told(first.recv, 1), told(first.getpeername), told(first.send, b"x"))
