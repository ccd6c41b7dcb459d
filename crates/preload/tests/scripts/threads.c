/* Threads that wait for sockets, how others wake them, and how they leave a wait: `threads WAY` prints what came of it, the same on
 * every stack. A wait that never ends is what each of these would fail by.
 *
 * The peers are sockets of the kernel's, made by an instruction that no library sees: what they do gives no stack here a turn. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Of siginterrupt(3), which programs call all the same. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { FEW = 4, ROUNDS = 300 };

static int listener, ours[FEW], peers[FEW];
static struct sockaddr_in name = {.sin_family = AF_INET};

static void need(int holds, const char *what) {
    if (holds) return;
    printf("%s: %s\n", what, strerror(errno));
    exit(98);
}

/* The system call itself: nothing can stand before it. */
static long unseen(long number, long a, long b, long c, long d) {
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    result = x0;
#endif
    return result;
}

static int peer(void) {
    for (;; usleep(1000)) {
        int fd = unseen(SYS_socket, AF_INET, SOCK_STREAM, 0, 0);
        if (unseen(SYS_connect, fd, (long)&name, sizeof name, 0) == 0) return fd;
        unseen(SYS_close, fd, 0, 0, 0);
    }
}
static void says(int peer, const char *text) {
    long length = strlen(text);
    need(unseen(SYS_write, peer, (long)text, length, 0) == length, "the peer's write");
}
/* As long as a thread may need until it sleeps: one that does not yet makes a test easier to pass. */
static void settle(void) { usleep(100000); }

static pthread_t started(void *(*run)(void *), long argument) {
    pthread_t thread;
    errno = pthread_create(&thread, 0, run, (void *)argument);
    need(errno == 0, "pthread_create");
    return thread;
}
static void *result_of(pthread_t thread) {
    void *result;
    need(pthread_join(thread, &result) == 0, "pthread_join");
    return result;
}

static void *connects(void *unused) {
    for (int i = 0; i < FEW; i++) peers[i] = peer();
    return unused;
}
static void prepare(void) {
    socklen_t length = sizeof name;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(listener, (void *)&name, sizeof name) == 0 && listen(listener, 50) == 0, "listen");
    need(getsockname(listener, (void *)&name, &length) == 0, "name");
    pthread_t other = started(connects, 0);
    for (int i = 0; i < FEW; i++) need((ours[i] = accept(listener, 0, 0)) >= 0, "accept");
    result_of(other);
}

/* --- threads that wait --- */

static void *receives(void *number) {
    char text[9] = {0};
    long got = recv(ours[(long)number], text, 8, 0);
    printf("%ld receives %ld '%s'\n", (long)number, got, got < 0 ? strerror(errno) : text);
    return 0;
}
/* The one that waits for the engine too, where there is one. */
static void begin_first(void) {
    started(receives, 0);
    settle();
}

static int set;
static void *is_told(void *unused) {
    struct epoll_event event;
    int count = epoll_wait(set, &event, 1, -1);
    printf("told of %d: %x\n", count, event.events);
    return unused;
}
static void watch(int operation, int fd, unsigned events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    need(epoll_ctl(set, operation, fd, &event) == 0, "epoll_ctl");
}
static void *accepts(void *unused) {
    int fd = accept(listener, 0, 0);
    printf("accepts %d: %s\n", fd < 0 ? fd : 0, fd < 0 ? strerror(errno) : "");
    return unused;
}

/* --- what a call of another thread's does to those that wait --- */

static void watched(int again) {
    set = epoll_create1(0);
    watch(EPOLL_CTL_ADD, ours[2], EPOLLIN);
    says(peers[1], "bytes");
    struct pollfd there = {ours[1], POLLIN, 0};
    need(poll(&there, 1, -1) == 1, "poll");
    if (again) {
        struct epoll_event event;
        watch(EPOLL_CTL_ADD, ours[1], EPOLLIN | EPOLLONESHOT);
        need(epoll_wait(set, &event, 1, -1) == 1 && epoll_wait(set, &event, 1, 0) == 0, "one shot");
    }
    begin_first();
    pthread_t second = started(is_told, 0);
    settle();
    watch(again ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, ours[1], EPOLLIN);
    result_of(second);
}
static void added(void) { watched(0); }
static void modified(void) { watched(1); }
static void shut(void) {
    begin_first();
    pthread_t second = started(receives, 1);
    settle();
    need(shutdown(ours[1], SHUT_RDWR) == 0, "shutdown");
    result_of(second);
}
static void listener_shut(void) {
    begin_first();
    pthread_t second = started(accepts, 0);
    settle();
    need(shutdown(listener, SHUT_RDWR) == 0, "shutdown");
    result_of(second);
}

/* --- who waits for the engine leaves, and the one it calls is leaving as well --- */

static pthread_barrier_t begins, two_left, ends;
static int pipes[2];
static void *first(void *unused) {
    for (char byte;;) {
        pthread_barrier_wait(&begins);
        need(recv(ours[0], &byte, 1, 0) == 1, "first");
        pthread_barrier_wait(&two_left);
        pthread_barrier_wait(&ends);
    }
    return unused;
}
static void *second(void *unused) {
    for (char byte;;) {
        pthread_barrier_wait(&begins);
        usleep(1000);
        struct pollfd either[] = {{ours[1], POLLIN, 0}, {pipes[0], POLLIN, 0}};
        need(poll(either, 2, -1) == 1 && read(pipes[0], &byte, 1) == 1, "second");
        pthread_barrier_wait(&two_left);
        pthread_barrier_wait(&ends);
    }
    return unused;
}
static void *third(void *unused) {
    for (char byte;;) {
        pthread_barrier_wait(&begins);
        usleep(2000);
        need(recv(ours[2], &byte, 1, 0) == 1, "third");
        pthread_barrier_wait(&ends);
    }
    return unused;
}
static void together(void) {
    void *(*all[])(void *) = {first, second, third};
    need(pipe(pipes) == 0, "pipe");
    pthread_barrier_init(&begins, 0, 4), pthread_barrier_init(&two_left, 0, 3), pthread_barrier_init(&ends, 0, 4);
    for (int i = 0; i < 3; i++) started(all[i], 0);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&begins);
        usleep(4000);
        says(peers[0], "a");
        for (volatile int i = 0; i < round % 60 * 200; i++) {}
        says(pipes[1], "b");
        pthread_barrier_wait(&two_left);
        says(peers[2], "c");
        pthread_barrier_wait(&ends);
    }
    printf("%d rounds\n", ROUNDS);
}

/* --- signals --- */

static volatile sig_atomic_t handled;
static void on_signal(int number) {
    (void)number;
    handled++;
}
static void install(int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    need(sigaction(SIGUSR1, &action, 0) == 0, "sigaction");
}
static volatile sig_atomic_t is_over;
static void *over(void *(*run)(void *), void *argument) {
    run(argument);
    is_over = 1;
    return 0;
}
static void *receives_once(void *number) { return over(receives, number); }
static void *accepts_once(void *unused) { return over(accepts, unused); }
static void *fills(void *number) {
    static char bytes[1 << 24];
    long sent = send(ours[(long)number], bytes, sizeof bytes, 0);
    printf("sends %s\n", sent == sizeof bytes ? "all" : sent > 0 ? "a part" : strerror(errno));
    return 0;
}
static void *fills_once(void *number) { return over(fills, number); }
static void *receives_whole(void *number) {
    char text[9] = {0};
    long got = recv(ours[(long)number], text, 8, MSG_WAITALL);
    printf("receives a part, %ld\n", got);
    return 0;
}
static void *receives_whole_once(void *number) { return over(receives_whole, number); }

/* Signals until the thread's call has ended by one. */
static void interrupted(const char *what, void *(*run)(void *), long number) {
    printf("%s: ", what);
    is_over = 0;
    pthread_t thread = started(run, number);
    while (!is_over) pthread_kill(thread, SIGUSR1), usleep(5000);
    result_of(thread);
}
/* Some signals, and then what the call waits for. */
static pthread_t begun_again(const char *what, void *(*run)(void *), long number) {
    printf("%s: ", what);
    is_over = 0;
    pthread_t thread = started(run, number);
    settle();
    for (int i = 0; i < 3; i++) {
        int before = handled;
        pthread_kill(thread, SIGUSR1);
        while (handled == before && !is_over) usleep(1000);
        settle();
    }
    return thread;
}
static void *sends_one(void *number) {
    printf("sends %ld\n", (long)send(ours[(long)number], "", 1, 0));
    return 0;
}
static void *sends_one_once(void *number) { return over(sends_one, number); }
/* Takes what has come, and comes, until the other's call is over. */
static void drain(int peer) {
    static char bytes[1 << 16];
    need(unseen(SYS_fcntl, peer, F_SETFL, O_NONBLOCK, 0) == 0, "fcntl");
    while (!is_over) {
        if (unseen(SYS_read, peer, (long)bytes, sizeof bytes, 0) < 0) usleep(1000);
    }
}
static void restarted(void) {
    struct timeval patience = {60, 0};
    install(SA_RESTART);
    pthread_t thread = begun_again("SA_RESTART", receives, 0);
    says(peers[0], "bytes");
    result_of(thread);
    thread = begun_again("accept", accepts, 0);
    int another = peer();
    result_of(thread);
    unseen(SYS_close, another, 0, 0, 0);
    says(peers[0], "part");
    interrupted("some of it", receives_whole_once, 0);
    need(setsockopt(ours[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0, "SO_RCVTIMEO");
    interrupted("SO_RCVTIMEO", receives_once, 1);
    interrupted("sending", fills_once, 2);
    is_over = 0;
    for (int i = 0; i < 4; i++, settle()) {
        while (send(ours[2], "", 1, MSG_DONTWAIT) == 1) {}
    }
    thread = begun_again("no room", sends_one_once, 2);
    drain(peers[2]);
    result_of(thread);
    install(0);
    interrupted("no SA_RESTART", receives_once, 0);
    interrupted("accept", accepts_once, 0);
    need(signal(SIGUSR1, on_signal) == on_signal, "signal");
    thread = begun_again("signal", receives, 0);
    says(peers[0], "more");
    result_of(thread);
    need(siginterrupt(SIGUSR1, 1) == 0, "siginterrupt");
    interrupted("siginterrupt", receives_once, 0);
    need(signal(SIGUSR1, on_signal) == on_signal, "signal");
    interrupted("and signal", receives_once, 0);
    need(siginterrupt(SIGUSR1, 0) == 0, "siginterrupt");
    thread = begun_again("no siginterrupt", receives, 0);
    says(peers[0], "end");
    result_of(thread);
}

/* --- leaving for good --- */

static sigjmp_buf back;
static void on_jump(int number) {
    (void)number;
    siglongjmp(back, 1);
}
static void waits_for_bytes(int fd) {
    char byte;
    recv(fd, &byte, 1, 0);
}
static void polls(int fd) {
    struct pollfd waits[] = {{fd, POLLIN, 0}, {pipes[0], POLLIN, 0}};
    poll(waits, 2, -1);
}
static void waits_in_set(int fd) {
    struct epoll_event event;
    (void)fd;
    epoll_wait(set, &event, 1, -1);
}
static void jumps_out(void (*wait)(int), int fd) {
    static const struct itimerval soon = {{0, 0}, {0, 50000}};
    if (sigsetjmp(back, 1) == 0) {
        setitimer(ITIMER_REAL, &soon, 0);
        wait(fd);
        need(0, "it did not wait");
    }
}
static void hears(int number, const char *who) {
    char text[9] = {0};
    need(recv(ours[number], text, 8, 0) > 0, "recv");
    printf("%s hears '%s'\n", who, text);
}
/* With more on its stack than the wait that was left had. */
__attribute__((noinline)) static void hears_deep(int number) {
    volatile char room[100000];
    room[sizeof room - 1] = 0;
    hears(number, "who jumped, deep down,");
}
static void *speaks_soon(void *number) {
    settle();
    says(peers[(long)number], "hello");
    return 0;
}
static void *hears_too(void *number) {
    hears((long)number, "another");
    return 0;
}
static void jumped(void) {
    void (*waits[])(int) = {waits_for_bytes, polls, waits_in_set};
    need(pipe(pipes) == 0, "pipe");
    set = epoll_create1(0);
    watch(EPOLL_CTL_ADD, ours[0], EPOLLIN);
    need(signal(SIGALRM, on_jump) == SIG_DFL, "signal");
    for (int i = 0; i < 3; i++) {
        jumps_out(waits[i], ours[0]);
        pthread_t other = started(speaks_soon, 0);
        hears_deep(0);
        result_of(other);
        /* It never waits again as far as the others know. */
        jumps_out(waits[i], ours[0]);
        pthread_t hearer = started(hears_too, 1);
        other = started(speaks_soon, 1);
        result_of(hearer), result_of(other);
    }
}

#ifdef __x86_64__
/* What a handler returns to (rt_sigreturn(2)). */
__asm__(".globl comes_back\ncomes_back:\n mov $15, %eax\n syscall\n");
#else
__asm__(".globl comes_back\ncomes_back:\n mov x8, #139\n svc 0\n");
#endif
extern void comes_back(void);

static void jumped_unseen(void) {
    /* As the kernel has it. */
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } action;
    memset(&action, 0, sizeof action);
    action.handler = on_jump, action.flags = 0x04000000 /* a restorer */, action.restorer = comes_back;
    need(unseen(SYS_rt_sigaction, SIGALRM, (long)&action, 0, 8) == 0, "rt_sigaction");
    for (int i = 0; i < 3; i++) {
        jumps_out(waits_for_bytes, ours[0]);
        pthread_t other = started(speaks_soon, 0);
        hears_deep(0);
        result_of(other);
    }
}

static void cancelled(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t gone = started(receives, 0);
        settle();
        pthread_t hearer = started(hears_too, 1);
        settle();
        need(pthread_cancel(gone) == 0, "pthread_cancel");
        printf("cancelled %d\n", result_of(gone) == PTHREAD_CANCELED);
        says(peers[1], "hello");
        result_of(hearer);
    }
}

/* Something may be closed in its name while others have to wait for it. */
static void *closes_last(void *number) {
    pthread_cancel(pthread_self());
    close(ours[(long)number]);
    pthread_testcancel();
    return 0;
}
static void cancelled_at_work(void) {
    printf("cancelled %d\n", result_of(started(closes_last, 0)) == PTHREAD_CANCELED);
    says(peers[1], "hello");
    hears(1, "another");
    /* It may not have come to this. */
    char byte;
    close(ours[0]);
    printf("the peer hears the end %d\n", unseen(SYS_read, peers[0], (long)&byte, 1, 0) == 0);
}

static const struct { const char *name; void (*run)(void); } WAYS[] = {
    {"added", added}, {"modified", modified}, {"shut", shut}, {"listener_shut", listener_shut}, {"together", together},
    {"restarted", restarted}, {"jumped", jumped}, {"jumped_unseen", jumped_unseen}, {"cancelled", cancelled},
    {"cancelled_at_work", cancelled_at_work},
};

int main(int count, char **arguments) {
    setvbuf(stdout, 0, _IOLBF, 0);
    unsigned way = 0;
    while (way < sizeof WAYS / sizeof *WAYS && (count != 2 || strcmp(WAYS[way].name, arguments[1]))) way++;
    need(way < sizeof WAYS / sizeof *WAYS, "threads WAY");
    prepare();
    WAYS[way].run();
    /* Some wait still. */
    return 0;
}
