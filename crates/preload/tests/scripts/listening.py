"""Who may listen where, at wildcards, which are any stack's. What it prints must be the same on every stack."""
import errno, socket

AGAIN, SHARED = socket.SO_REUSEADDR, socket.SO_REUSEPORT

def told(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))

def stream(*options):
    made = socket.socket()
    for option in options:
        made.setsockopt(socket.SOL_SOCKET, option, 1)
    return made

def bound(*options):
    made = stream(*options)
    made.bind(("0.0.0.0", 0))
    return made, made.getsockname()

first, address = bound(AGAIN)
print("nobody's (RFC 5737)", told(stream().bind, ("192.0.2.1", address[1])))
print("not again", told(stream().bind, address))
second = stream(AGAIN)
print("again", told(second.bind, address))
print("one of two", told(first.listen), told(second.listen), told(first.listen, 7))
third = stream(AGAIN)
print("late", told(third.bind, address), told(third.bind, ("0.0.0.0", 0)), told(third.bind, address), told(third.listen))
first.close()
print("free", told(second.listen))
second.shutdown(socket.SHUT_RD)
fourth = stream(AGAIN)
print("free again", told(fourth.bind, address), told(fourth.listen))

first, address = bound(SHARED)
second = stream(SHARED)
print("shared", told(second.bind, address), told(first.listen), told(second.listen))
print("not shared", told(stream(AGAIN).bind, address))
