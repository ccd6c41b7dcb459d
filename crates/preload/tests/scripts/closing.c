/* A server that closes what it was not given, as daemons do: `closing serve WAY PORT FILE`, and its client `closing ask HOST PORT WAY`.
 *
 * Both print what they see. The server has a listener, a connection and an epoll instance at the lowest numbers, closes all others as
 * WAY says, and goes on. `unseen` does so by an instruction of its own and puts the file at every number from 1500. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LISTENER = 3, CONNECTION, SET, REST, UNSEEN_FROM = 1500, LIMIT = 2048 };

static void need(int holds, const char *what) {
    if (holds) return;
    printf("%s: %s\n", what, strerror(errno));
    exit(98);
}

/* The system call itself: nothing can stand before it. */
static long unseen(long number, long a, long b, long c) {
    long result;
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    result = x0;
#endif
    return result;
}

/* --- ways to close --- */

static void by_closefrom(void) { closefrom(REST); }
static void by_close_range(void) { need(close_range(REST, ~0U, 0) == 0, "close_range"); }
static void by_close_range_number(void) { need(syscall(SYS_close_range, REST, ~0U, 0) == 0, "close_range"); }
static void by_close(void) { for (int fd = REST; fd < LIMIT; fd++) close(fd); }
static void by_close_number(void) { for (int fd = REST; fd < LIMIT; fd++) syscall(SYS_close, fd); }
static void by_folder(void) {
    DIR *folder = opendir("/proc/self/fd");
    need(folder != 0, "/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder));) {
        int fd = atoi(entry->d_name);
        if (fd >= REST && fd != dirfd(folder)) close(fd);
    }
    closedir(folder);
}
/* What is put in the place of another goes again. */
static void by_dup2(void) {
    for (int fd = REST; fd < LIMIT; fd++)
        if (dup2(0, fd) == fd) close(fd);
}
static void by_dup3(void) {
    for (int fd = REST; fd < LIMIT; fd++)
        if (dup3(0, fd, O_CLOEXEC) == fd) close(fd);
}
static const char *file;
static void by_unseen(void) {
    need(unseen(SYS_close_range, REST, ~0U, 0) == 0, "close_range");
    int stranger = open(file, O_RDWR | O_APPEND);
    need(stranger == REST, "number");
    for (int fd = UNSEEN_FROM; fd < LIMIT; fd++) need(unseen(SYS_dup3, stranger, fd, O_CLOEXEC) == fd, "dup3");
    unseen(SYS_close, stranger, 0, 0);
}
static const struct { const char *name; void (*close)(void); } WAYS[] = {
    {"closefrom", by_closefrom}, {"close_range", by_close_range}, {"close_range_number", by_close_range_number},
    {"close", by_close}, {"close_number", by_close_number}, {"folder", by_folder}, {"dup2", by_dup2}, {"dup3", by_dup3},
    {"unseen", by_unseen},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/* --- both sides --- */

static int hear(const char *who, int fd, size_t count) {
    char text[16] = {0};
    ssize_t got = recv(fd, text, count, MSG_WAITALL);
    if (got < 0) printf("%s: %s\n", who, errno == ECONNRESET ? "reset" : strerror(errno));
    else printf("%s hears '%s'\n", who, text);
    return got == (ssize_t)count;
}
static void say(int fd, const char *text) {
    ssize_t sent = send(fd, text, strlen(text), MSG_NOSIGNAL);
    if (sent != (ssize_t)strlen(text)) printf("not sent: %s\n", text);
}
static struct sockaddr_in at(const char *host, const char *port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    need(inet_pton(AF_INET, host, &name.sin_addr) == 1, "address");
    return name;
}

static void watch(int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    need(epoll_ctl(SET, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}
static void wait_for(int fd) {
    struct epoll_event event;
    need(epoll_wait(SET, &event, 1, 30000) == 1 && event.data.fd == fd, "epoll_wait");
}

static void accept_another(void) {
    watch(LISTENER);
    wait_for(LISTENER);
    int another = accept(LISTENER, 0, 0);
    printf("accepted %d\n", another);
    if (hear("the server", another, 5)) say(another, "three");
}

static void serve(const char *way, const char *port) {
    struct sockaddr_in name = at("0.0.0.0", port);
    int on = 1;
    struct rlimit limit = {LIMIT, LIMIT};
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0, "limit");
    need(socket(AF_INET, SOCK_STREAM, 0) == LISTENER, "listener");
    setsockopt(LISTENER, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    need(bind(LISTENER, (void *)&name, sizeof name) == 0 && listen(LISTENER, 5) == 0, "listen");
    need(accept(LISTENER, 0, 0) == CONNECTION && epoll_create1(0) == SET, "the lowest numbers");
    watch(CONNECTION);
    wait_for(CONNECTION);
    hear("the server", CONNECTION, 5);
    say(CONNECTION, "one");
    int at_end = 0;
    for (; at_end < WAY_COUNT && strcmp(WAYS[at_end].name, way); at_end++) {}
    need(at_end < WAY_COUNT, way);
    WAYS[at_end].close();
    int next = open(file, O_RDWR | O_APPEND);
    printf("the next number is %d\n", next);
    wait_for(CONNECTION);
    if (hear("the server", CONNECTION, 5)) say(CONNECTION, "two");
    if (WAYS[at_end].close == by_unseen) {
        /* Whoever sleeps has to look first by what. */
        wait_for(CONNECTION);
        hear("the server", CONNECTION, 5);
    } else {
        accept_another();
    }
    char text[64] = {0};
    need(pread(next, text, sizeof text - 1, 0) >= 0, "file");
    printf("in the file is '%s'\n", text);
}

static int reach(const char *host, const char *port) {
    struct sockaddr_in name = at(host, port);
    for (int tries = 0; tries < 300; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (void *)&name, sizeof name) == 0) return fd;
        close(fd);
        usleep(100000);
    }
    need(0, "connect");
    return -1;
}
static void ask(const char *host, const char *port, int goes_on) {
    int fd = reach(host, port);
    say(fd, "first");
    if (hear("the client", fd, 3)) say(fd, "again");
    if (!hear("the client", fd, 3) || !goes_on) {
        hear("the client", fd, 3);
        return;
    }
    int other = reach(host, port);
    say(other, "third");
    hear("the client", other, 5);
}

int main(int count, char **arguments) {
    setvbuf(stdout, 0, _IOLBF, 0);
    if (count == 2 && !strcmp(arguments[1], "--list")) {
        for (int i = 0; i < WAY_COUNT; i++) puts(WAYS[i].name);
    } else if (count == 5 && !strcmp(arguments[1], "serve")) {
        file = arguments[4];
        serve(arguments[2], arguments[3]);
    } else if (count == 5 && !strcmp(arguments[1], "ask")) {
        ask(arguments[2], arguments[3], strcmp(arguments[4], "unseen"));
    } else {
        need(0, "closing serve WAY PORT FILE | ask HOST PORT WAY");
    }
    return 0;
}
