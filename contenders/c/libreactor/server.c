/* hello, plaintext and byte with libreactor: one process for each CPU given, forked before the event loop starts; the
 * processes share the port (SO_REUSEPORT is what net_socket sets). */
#define _GNU_SOURCE
#include <reactor.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void answer(reactor_event *event) {
  server_request *request = (server_request *)event->data;
  data text = data_string("text/plain");
  if (data_equal(request->target, data_string("/"))) server_ok(request, text, data_string("hello"));
  else if (data_equal(request->target, data_string("/plaintext")))
    server_ok(request, text, data_string("Hello, World!"));
  else if (data_equal(request->target, data_string("/byte"))) server_ok(request, text, data_string("!"));
  else server_not_found(request);
}

static void serve(char *address, char *port) {
  server server;
  reactor_construct();
  server_construct(&server, answer, &server);
  server_open(&server, net_socket(net_resolve(address, port, AF_UNSPEC, SOCK_STREAM, AI_PASSIVE)), NULL);
  reactor_loop();
  server_destruct(&server);
  reactor_destruct();
}

static void pin(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

int main(void) {
  char *address = getenv("ADDRESS"), *port = getenv("PORT");
  cpu_set_t given; /* the process is bound to its CPUs already */
  sched_getaffinity(0, sizeof given, &given);
  if (address == NULL || port == NULL) return 2;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &given) || fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* workers end with their parent */
    pin(cpu);
    serve(address, port);
    _exit(1);
  }
  wait(NULL); /* a worker that ends is a fault: fewer would be a different contender */
  return 1;
}
