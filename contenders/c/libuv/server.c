/* One process, one thread and one event loop for each CPU given: the design of octane, on libuv's public API.
 * Every loop has a listening socket of its own (SO_REUSEPORT), so the kernel spreads the connections and the
 * loops share nothing. Requests are parsed by http_parser; the answers to all requests of one read leave with
 * one write. */
#define _GNU_SOURCE
#include <http_parser.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

enum {
  BACKLOG = 4096,
  READ_BYTES = 16 * 1024,
  ANSWER_BYTES = 256, /* no answer is longer */
  PATH_BYTES = 64,    /* a longer path is none of ours */
  /* One read holds at most so many requests (the shortest has 18 bytes), whose answers are written at once. */
  OUT_BYTES = READ_BYTES / 18 * ANSWER_BYTES,
};

struct worker {
  pthread_t thread;
  int cpu;
  uv_loop_t loop;
  uv_tcp_t listener;
  uv_timer_t clock;
  char date[40];
  char in[READ_BYTES];
  char out[OUT_BYTES]; /* the answers of the read at hand */
  size_t out_length;
};

struct connection {
  uv_tcp_t tcp;
  struct worker *worker;
  http_parser parser;
  char path[PATH_BYTES];
  size_t path_length;
  int last; /* close after the answers have left */
};

/* What could not leave at once. */
struct rest {
  uv_write_t request;
  int last;
  char bytes[];
};

static struct sockaddr_storage address;

static void check(int status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "server: %s: %s\n", what, uv_strerror(status));
  exit(1);
}

/* ---- answers ---- */

static void answer(struct connection *c, const char *status, const char *fields, const char *body) {
  struct worker *w = c->worker;
  int head = c->parser.method == HTTP_HEAD;
  /* Who speaks HTTP/1.0 must be told that the connection stays (RFC 9112, 9.3). */
  const char *kept = c->parser.http_minor == 0 ? "Connection: keep-alive\r\n" : "";
  size_t space = OUT_BYTES - w->out_length;
  int n = snprintf(w->out + w->out_length, space,
                   "HTTP/1.1 %s\r\nServer: libuv\r\nDate: %s\r\nContent-Type: text/plain\r\n%s"
                   "Content-Length: %zu\r\n%s\r\n%s",
                   status, w->date, fields, strlen(body), c->last ? "Connection: close\r\n" : kept,
                   head ? "" : body);
  if (n > 0 && (size_t)n < space) w->out_length += (size_t)n;
  else c->last = 1;
}

static int is(const struct connection *c, const char *path) {
  return strlen(path) == c->path_length && memcmp(path, c->path, c->path_length) == 0;
}

static const char *resource(const struct connection *c) {
  if (is(c, "/")) return "hello";
  if (is(c, "/plaintext")) return "Hello, World!";
  if (is(c, "/byte")) return "!";
  return NULL;
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
  const char *body = resource(c);
  c->last = !http_should_keep_alive(parser);
  if (body == NULL) answer(c, "404 Not Found", "", "not found");
  else if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
    answer(c, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "method not allowed");
  else answer(c, "200 OK", "", body);
  if (c->last) http_parser_pause(parser, 1); /* nothing after it is read */
  return 0;
}

static const http_parser_settings settings = {
    .on_message_begin = on_begin, .on_url = on_url, .on_message_complete = on_complete};

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle) { free(handle->data); }

static void end(struct connection *c) {
  if (!uv_is_closing((uv_handle_t *)&c->tcp)) uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  (void)suggested;
  struct connection *c = handle->data;
  *buffer = uv_buf_init(c->worker->in, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);

static void on_rest_written(uv_write_t *request, int status) {
  struct rest *rest = (struct rest *)request;
  struct connection *c = request->handle->data;
  if (status < 0 || rest->last) end(c);
  else if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0) end(c);
  free(rest);
}

/* Sends what the read at hand was answered with. A client that reads slowly is read from no more until it has taken
 * its answers. */
static void flush(struct connection *c) {
  struct worker *w = c->worker;
  uv_buf_t buffer = uv_buf_init(w->out, (unsigned)w->out_length);
  int sent = w->out_length ? uv_try_write((uv_stream_t *)&c->tcp, &buffer, 1) : 0;
  size_t left = w->out_length - (size_t)(sent > 0 ? sent : 0);
  if (sent < 0 && sent != UV_EAGAIN) left = 0, c->last = 1;
  w->out_length = 0;
  if (left == 0) {
    if (c->last) end(c);
    return;
  }
  struct rest *rest = malloc(sizeof *rest + left);
  if (rest == NULL) return end(c);
  memcpy(rest->bytes, buffer.base + (sent > 0 ? sent : 0), left);
  rest->last = c->last;
  uv_read_stop((uv_stream_t *)&c->tcp);
  buffer = uv_buf_init(rest->bytes, (unsigned)left);
  if (uv_write(&rest->request, (uv_stream_t *)&c->tcp, &buffer, 1, on_rest_written) < 0) {
    free(rest);
    end(c);
  }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
  struct connection *c = stream->data;
  if (n == 0) return;
  if (n < 0) return end(c);
  http_parser_execute(&c->parser, &settings, buffer->base, (size_t)n);
  enum http_errno error = HTTP_PARSER_ERRNO(&c->parser);
  if (error != HPE_OK && error != HPE_PAUSED) {
    c->last = 1;
    answer(c, "400 Bad Request", "", "bad request");
  }
  flush(c);
}

static void on_connection(uv_stream_t *listener, int status) {
  struct worker *w = listener->data;
  struct connection *c = status < 0 ? NULL : calloc(1, sizeof *c);
  if (c == NULL) return;
  c->worker = w;
  c->tcp.data = c;
  http_parser_init(&c->parser, HTTP_REQUEST);
  c->parser.data = c;
  if (uv_tcp_init(&w->loop, &c->tcp) < 0) return free(c);
  if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0 || uv_tcp_nodelay(&c->tcp, 1) < 0 ||
      uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0)
    end(c);
}

/* ---- workers ---- */

static void renew_date(uv_timer_t *timer) {
  struct worker *w = timer->data;
  struct tm parts;
  time_t now = time(NULL);
  strftime(w->date, sizeof w->date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
}

static int open_listener(void) {
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
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(w->cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  check(uv_loop_init(&w->loop), "event loop");
  uv_timer_init(&w->loop, &w->clock);
  w->clock.data = w->listener.data = w;
  renew_date(&w->clock);
  uv_timer_start(&w->clock, renew_date, 1000, 1000);
  check(uv_tcp_init(&w->loop, &w->listener), "listener");
  check(uv_tcp_open(&w->listener, open_listener()), "listener");
  check(uv_listen((uv_stream_t *)&w->listener, BACKLOG, on_connection), "listen");
  uv_run(&w->loop, UV_RUN_DEFAULT);
  return NULL;
}

static void read_address(void) {
  const char *host = getenv("ADDRESS"), *port = getenv("PORT");
  if (host == NULL || port == NULL) check(UV_EINVAL, "ADDRESS and PORT must be set");
  if (uv_ip4_addr(host, atoi(port), (struct sockaddr_in *)&address) < 0)
    check(uv_ip6_addr(host, atoi(port), (struct sockaddr_in6 *)&address), host);
}

int main(void) {
  cpu_set_t given; /* the process is bound to its CPUs already */
  sched_getaffinity(0, sizeof given, &given);
  int count = CPU_COUNT(&given), made = 0;
  struct worker *workers = calloc((size_t)count, sizeof *workers);
  if (workers == NULL) check(UV_ENOMEM, "workers");
  read_address();
  for (int cpu = 0; cpu < CPU_SETSIZE && made < count; cpu++) {
    if (!CPU_ISSET(cpu, &given)) continue;
    workers[made].cpu = cpu;
    check(-pthread_create(&workers[made].thread, NULL, run, &workers[made]), "thread");
    made++;
  }
  for (int i = 0; i < made; i++) pthread_join(workers[i].thread, NULL);
  return 1; /* a loop that ends is a fault */
}
