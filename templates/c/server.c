/* A server for the workloads hello and json: one thread and one event loop for each CPU given, each with a listening
 * socket of its own (SO_REUSEPORT), so that the kernel spreads the connections and the loops share nothing. */
#define _GNU_SOURCE
#include <http_parser.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

enum {
  BACKLOG = 4096,
  READ_BYTES = 16 * 1024,
  ANSWER_BYTES = 512, /* no answer is longer */
  PATH_BYTES = 64,    /* a longer path is none of ours */
  MAX_LOOPS = 1024,
};

struct worker {
  pthread_t thread;
  uv_loop_t loop;
  uv_tcp_t listener;
  char in[READ_BYTES];
};

struct connection {
  uv_tcp_t tcp;
  http_parser parser;
  char path[PATH_BYTES];
  size_t path_length;
};

/* An answer that is on its way. */
struct answer {
  uv_write_t request;
  int last; /* close after it */
  char bytes[ANSWER_BYTES];
};

static struct sockaddr_storage address;
static struct worker workers[MAX_LOOPS];

static void check(int status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "server: %s: %s\n", what, uv_strerror(status));
  exit(1);
}

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle) { free(handle->data); }

static void end(struct connection *c) {
  if (!uv_is_closing((uv_handle_t *)&c->tcp)) uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *request, int status) {
  struct answer *answer = (struct answer *)request;
  if (status < 0 || answer->last) end(request->handle->data);
  free(answer);
}

static void send_answer(struct connection *c, const char *status, const char *fields, const char *body, int last) {
  struct answer *answer = malloc(sizeof *answer);
  if (answer == NULL) return end(c);
  char date[40];
  struct tm parts;
  time_t now = time(NULL);
  strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
  /* Who speaks HTTP/1.0 must be told that the connection stays (RFC 9112, 9.3). */
  const char *kept = c->parser.http_minor == 0 ? "Connection: keep-alive\r\n" : "";
  int length = snprintf(answer->bytes, ANSWER_BYTES,
                        "HTTP/1.1 %s\r\nServer: libuv\r\nDate: %s\r\n%sContent-Length: %zu\r\n%s\r\n%s", status,
                        date, fields, strlen(body), last ? "Connection: close\r\n" : kept,
                        c->parser.method == HTTP_HEAD ? "" : body);
  answer->last = last;
  uv_buf_t buffer = uv_buf_init(answer->bytes, (unsigned)length);
  if (length >= ANSWER_BYTES || uv_write(&answer->request, (uv_stream_t *)&c->tcp, &buffer, 1, on_written) < 0) {
    free(answer);
    end(c);
  }
}

/* ---- requests ---- */

/* C has no serialiser that all its users use: put yours here, and serialise a new object for every request. */
static void greet(char *json, size_t space, const char *message) {
  snprintf(json, space, "{\"message\":\"%s\"}", message);
}

static int is(const struct connection *c, const char *path) {
  return strlen(path) == c->path_length && memcmp(path, c->path, c->path_length) == 0;
}

static int on_begin(http_parser *parser) {
  ((struct connection *)parser->data)->path_length = 0;
  return 0;
}

static int on_url(http_parser *parser, const char *at, size_t length) {
  struct connection *c = parser->data;
  size_t kept = length < PATH_BYTES - c->path_length ? length : PATH_BYTES - c->path_length;
  memcpy(c->path + c->path_length, at, kept);
  c->path_length += kept;
  return 0;
}

static int on_complete(http_parser *parser) {
  struct connection *c = parser->data;
  int last = !http_should_keep_alive(parser);
  char json[64];
  greet(json, sizeof json, "Hello, World!");
  if (!is(c, "/") && !is(c, "/json"))
    send_answer(c, "404 Not Found", "Content-Type: text/plain\r\n", "not found", last);
  else if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
    send_answer(c, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "", last);
  else if (is(c, "/"))
    send_answer(c, "200 OK", "Content-Type: text/plain\r\n", "hello", last);
  else
    send_answer(c, "200 OK", "Content-Type: application/json\r\n", json, last);
  if (last) http_parser_pause(parser, 1); /* nothing after it is read */
  return 0;
}

static const http_parser_settings settings = {
    .on_message_begin = on_begin, .on_url = on_url, .on_message_complete = on_complete};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  (void)suggested;
  struct worker *w = handle->loop->data;
  *buffer = uv_buf_init(w->in, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
  struct connection *c = stream->data;
  if (n == 0) return;
  if (n < 0) return end(c);
  http_parser_execute(&c->parser, &settings, buffer->base, (size_t)n);
  enum http_errno error = HTTP_PARSER_ERRNO(&c->parser);
  if (error == HPE_OK) return;
  uv_read_stop(stream);
  if (error != HPE_PAUSED) send_answer(c, "400 Bad Request", "Content-Type: text/plain\r\n", "bad request", 1);
}

static void on_connection(uv_stream_t *listener, int status) {
  struct connection *c = status < 0 ? NULL : calloc(1, sizeof *c);
  if (c == NULL) return;
  http_parser_init(&c->parser, HTTP_REQUEST);
  c->parser.data = c->tcp.data = c;
  if (uv_tcp_init(listener->loop, &c->tcp) < 0) return free(c);
  if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0 || uv_tcp_nodelay(&c->tcp, 1) < 0 ||
      uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0)
    end(c);
}

/* ---- workers ---- */

static int open_socket(void) {
  int on = 1, fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t length = address.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
      setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) || bind(fd, (struct sockaddr *)&address, length)) {
    perror("server: listen");
    exit(1);
  }
  return fd;
}

static void *run(void *argument) {
  struct worker *w = argument;
  check(uv_loop_init(&w->loop), "event loop");
  w->loop.data = w;
  check(uv_tcp_init(&w->loop, &w->listener), "listener");
  check(uv_tcp_open(&w->listener, open_socket()), "listener");
  check(uv_listen((uv_stream_t *)&w->listener, BACKLOG, on_connection), "listen");
  uv_run(&w->loop, UV_RUN_DEFAULT);
  return NULL;
}

static const char *setting(const char *name) {
  const char *value = getenv(name);
  if (value != NULL) return value;
  fprintf(stderr, "server: %s is not set\n", name);
  exit(1);
}

int main(void) {
  const char *host = setting("ADDRESS");
  int port = atoi(setting("PORT")), count = atoi(setting("WORKERS"));
  if (uv_ip4_addr(host, port, (struct sockaddr_in *)&address) < 0)
    check(uv_ip6_addr(host, port, (struct sockaddr_in6 *)&address), host);
  if (count < 1 || count > MAX_LOOPS) check(UV_EINVAL, "WORKERS");
  for (int i = 0; i < count; i++) check(-pthread_create(&workers[i].thread, NULL, run, &workers[i]), "thread");
  for (int i = 0; i < count; i++) pthread_join(workers[i].thread, NULL);
  return 1; /* a loop that ends is a fault */
}
