"""The standard library's server with a thread for each connection, all in blocking calls."""
import functools, http.server, sys

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

handler = functools.partial(Handler, directory=sys.argv[1])
http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[2])), handler).serve_forever()
