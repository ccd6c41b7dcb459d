/* A storm of signals, whose handler makes calls on sockets of its own while the program makes calls on others: every byte arrives,
 * in order, and each call does what it would on the kernel's stack. `storm ROUNDS` prints what came of it; `storm ROUNDS unseen` has
 * its handler installed by number, so that nobody can make it wait, and fork. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the handler: two ends of a connection. Nobody else touches them. */
static int near, far;
static volatile sig_atomic_t handled, nested, failed, failure;
static volatile sig_atomic_t storms = 1;
static const struct itimerval soon = {{0, 0}, {0, 20}};
static unsigned char sent, received;

static void need(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(98);
    }
}

static void connection(int *one, int *other) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(listener, (void *)&name, sizeof name) == 0 && listen(listener, 5) == 0, "listen");
    getsockname(listener, (void *)&name, &length);
    *one = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(*one, (void *)&name, sizeof name) == 0, "connect");
    *other = accept(listener, 0, 0);
    need(*other >= 0 && close(listener) == 0, "accept");
}

/* Calls that are safe in a handler (signal-safety(7)). */
static void on_alarm(int number) {
    int error = errno;
    (void)number;
    handled++;
    unsigned char out = sent, in;
    if (send(near, &out, 1, MSG_DONTWAIT) == 1) sent++;
    else if (errno != EAGAIN) failed++, failure = errno;
    while (recv(far, &in, 1, MSG_DONTWAIT) == 1) {
        if (in != received++) failed++, failure = 1000;
    }
    if (errno != EAGAIN) failed++, failure = errno;
    int copy = dup(far);
    struct pollfd waits = {copy, POLLIN, 0};
    if (copy < 0 || poll(&waits, 1, 0) < 0 || close(copy) < 0) failed++, failure = errno;
    /* From now on, so that the program gets on however long this took. */
    if (storms) setitimer(ITIMER_REAL, &soon, 0);
    errno = error;
}

/* Of another kind: three arguments, and it interrupts the other. */
static void on_user(int number, siginfo_t *info, void *context) {
    (void)context;
    nested++;
    if (number != SIGUSR1 || info->si_signo != SIGUSR1 || info->si_pid != getpid()) failed++, failure = 2000;
}

/* With `forks` it has children, with less than none it asks for no memory: fork(3) in a handler would. */
static void exchange(int rounds, int one, int other, int forks) {
    int set = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.fd = other}};
    need(epoll_ctl(set, EPOLL_CTL_ADD, other, &event) == 0, "epoll_ctl");
    char out[4096], in[4096], *memory[100] = {0};
    for (int round = 0; round < rounds; round++) {
        /* The handler comes while the C library gives memory away, too: it must not ask for any. */
        for (int i = 0; forks >= 0 && i < 100; i++) free(memory[i]), memory[i] = malloc(2000 + (round * 31 + i * 977) % 50000);
        memset(out, round, sizeof out);
        for (size_t n = 0; n < sizeof out;) {
            ssize_t more = write(one, out + n, sizeof out - n);
            need(more > 0 || errno == EINTR, "write");
            if (more > 0) n += more;
        }
        while (epoll_wait(set, &event, 1, -1) < 0) need(errno == EINTR, "epoll_wait");
        for (size_t n = 0; n < sizeof in;) {
            ssize_t more = read(other, in + n, sizeof in - n);
            need(more > 0 || errno == EINTR, "read");
            if (more > 0) n += more;
        }
        need(memcmp(in, out, sizeof in) == 0, "bytes");
        if (forks > 0 && round % 16 == 0) {
            pid_t child = fork();
            if (child == 0) _exit(0);
            int status;
            need(child > 0, "fork");
            while (waitpid(child, &status, 0) < 0) need(errno == EINTR, "waitpid");
        }
    }
    for (int i = 0; i < 100; i++) free(memory[i]);
    close(set);
}

static int rounds, unseen, ends[2][2];

/* It may come when its own thread is within a call on a socket. */
static void on_alarm_unseen(int number) {
    int error = errno;
    (void)number;
    handled++;
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0) failed++, failure = errno;
    while (waitpid(child, 0, 0) < 0 && errno == EINTR) {}
    /* Told that it cannot, or done; but it comes back. */
    unsigned char out = 0;
    if (send(near, &out, 1, MSG_DONTWAIT) < 0 && errno != EDEADLK && errno != EAGAIN) failed++, failure = errno;
    if (storms) setitimer(ITIMER_REAL, &soon, 0);
    errno = error;
}

#ifdef __x86_64__
/* What a handler returns to (rt_sigreturn(2)). */
__asm__(".globl comes_back\ncomes_back:\n mov $15, %eax\n syscall\n");
#else
__asm__(".globl comes_back\ncomes_back:\n mov x8, #139\n svc 0\n");
#endif
extern void comes_back(void);

static void install_unseen(void) {
    /* As the kernel has it. */
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } action;
    memset(&action, 0, sizeof action);
    action.handler = on_alarm_unseen, action.flags = SA_RESTART | 0x04000000 /* a restorer */, action.restorer = comes_back;
    need(syscall(SYS_rt_sigaction, SIGALRM, &action, 0, 8) == 0, "rt_sigaction");
}

static void *thread(void *unused) {
    (void)unused;
    exchange(rounds, ends[1][0], ends[1][1], unseen ? -1 : 0);
    return 0;
}

int main(int count, char **arguments) {
    unseen = count == 3 && !strcmp(arguments[2], "unseen");
    need(count == 2 || unseen, "storm ROUNDS [unseen]");
    rounds = atoi(arguments[1]);
    connection(&near, &far);
    connection(&ends[0][0], &ends[0][1]);
    connection(&ends[1][0], &ends[1][1]);
    /* Signals come to the first thread alone. */
    sigset_t all, none;
    sigfillset(&all);
    need(pthread_sigmask(SIG_BLOCK, &all, &none) == 0, "mask");
    pthread_t other;
    need(pthread_create(&other, 0, thread, 0) == 0, "thread");
    pthread_sigmask(SIG_SETMASK, &none, 0);
    struct sigaction user = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO | SA_RESTART}, shown;
    need(sigaction(SIGUSR1, &user, 0) == 0 && sigaction(SIGUSR1, 0, &shown) == 0, "sigaction");
    need(shown.sa_sigaction == on_user && shown.sa_flags & SA_SIGINFO, "the handler is shown");
    need(signal(SIGALRM, on_alarm) == SIG_DFL && signal(SIGALRM, on_alarm) == on_alarm, "signal");
    if (unseen) install_unseen();
    setitimer(ITIMER_REAL, &soon, 0);
    for (int i = 0; i < 20; i++) {
        exchange(rounds / 20, ends[0][0], ends[0][1], unseen ? -1 : 1);
        kill(getpid(), SIGUSR1);
    }
    need(pthread_join(other, 0) == 0, "join");
    storms = 0;
    /* What it was for a moment: once, and then as at the beginning. */
    struct sigaction once = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    need(sigaction(SIGUSR1, &once, 0) == 0 && raise(SIGUSR1) == 0 && sigaction(SIGUSR1, 0, &shown) == 0, "once");
    printf("stormy %d, nested %d, failed %d (%d), in order %d, default again %d\n", handled > 20, nested > 0, failed, failure,
           (unsigned char)(sent - received) < 200, shown.sa_handler == SIG_DFL);
    return failed != 0;
}
