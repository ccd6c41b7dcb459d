"""Epoll instances within each other, of which the inner one watches a socket of the stack, or is to."""
import errno, select, socket

def told(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]

listener = socket.create_server(("127.0.0.1", 0))
outer, inner, later = select.epoll(), select.epoll(), select.epoll()
inner.register(listener, select.EPOLLIN)
print("inner", told(outer.register, inner, select.EPOLLIN))
print("later", told(outer.register, later, select.EPOLLIN), told(later.register, listener, select.EPOLLIN), later.poll(0))
print("taken out", told(outer.unregister, later), told(later.register, listener, select.EPOLLIN))
client = socket.create_connection(listener.getsockname())
print("apart", len(inner.poll(20)), len(later.poll(20)), outer.poll(0))
