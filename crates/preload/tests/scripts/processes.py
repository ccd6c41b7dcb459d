"""A listener that children inherit, or are handed. What it prints must be the same on every stack."""
import os, select, signal, socket, subprocess, sys, time

def serve(listener, name):
    epoll = select.epoll()
    epoll.register(listener, select.EPOLLIN)
    while True:
        epoll.poll()
        connection, _ = listener.accept()
        connection.sendall(name + connection.recv(9))
        connection.close()

def reached(address):
    """A child listens when it first waits; until then nobody may be there."""
    for _ in range(1000):
        try:
            return socket.create_connection(address)
        except ConnectionRefusedError:
            time.sleep(0.01)

def asked(address):
    with reached(address) as client:
        client.sendall(b"?")
        answer = b""
        while part := client.recv(99):
            answer += part
        return answer

def ended(child, number):
    os.kill(child, number)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

listener = socket.create_server(("127.0.0.1", 0))
address = listener.getsockname()
child = os.fork()
if child == 0:
    serve(listener, b"child")
print("forked", asked(address), asked(address), ended(child, signal.SIGTERM))

here, there = socket.socketpair()
child = os.fork()
if child == 0:
    listener.close()
    _, passed, _, _ = socket.recv_fds(there, 1, 1)
    handed = socket.socket(fileno=passed[0])
    handed.listen(5)
    print("handed", handed.getsockname() == address, flush=True)
    serve(handed, b"handed")
socket.send_fds(here, [b"x"], [listener.fileno()])
print("handed", asked(address), ended(child, signal.SIGKILL))

listener.close()
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
connection, _ = listener.accept()
print("spawned", subprocess.run(["true"], close_fds=True).returncode, subprocess.run(["true"], close_fds=False).returncode)
connection.sendall(b"alive")
print("after", client.recv(9))
child = os.fork()
if child == 0:
    connection.close()
    client.close()
    listener.close()
    sys.exit(3)
print("closed there", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
connection.sendall(b"alive here")
print("lives here", client.recv(10))
