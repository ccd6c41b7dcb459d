/* Every call that makes, moves or ends a descriptor: `descriptors CALL WAY` prints the same on every stack, `descriptors --list` the
 * calls. WAY is how the call is made: as a function of the C library, by number through syscall(2), or by an instruction of its own.
 *
 * There is a connection whose one end, the victim, has the lowest number, so that the next descriptor gets that number once the
 * victim is ended. What is written there then must not reach the peer. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/landlock.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

enum { FUNCTION, NUMBER, INSTRUCTION } way;
static const char *const WAYS[] = {"function", "number", "instruction"};

/* The lowest number; nobody has it but the victim and what comes after it. */
enum { VICTIM = 3 };
static int peer, other, other_peer, listener;
static const char *file_name;
static int output = 1;

/* The system call itself: nothing can stand before it. */
static long instruction(long number, long a, long b, long c, long d, long e, long f) {
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    result = x0;
#endif
    if (result < 0 && result > -4096) {
        errno = -result;
        return -1;
    }
    return result;
}

static long by_number(long number, long a, long b, long c, long d, long e, long f) {
    return way == INSTRUCTION ? instruction(number, a, b, c, d, e, f) : syscall(number, a, b, c, d, e, f);
}

#define NTH(_0, _1, _2, _3, _4, _5, _6, n, ...) n
#define LONG(x) ((long)(x))
#define CALL0(n) by_number(n, 0, 0, 0, 0, 0, 0)
#define CALL1(n, a) by_number(n, LONG(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) by_number(n, LONG(a), LONG(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) by_number(n, LONG(a), LONG(b), LONG(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) by_number(n, LONG(a), LONG(b), LONG(c), LONG(d), 0, 0)
#define CALL5(n, a, b, c, d, e) by_number(n, LONG(a), LONG(b), LONG(c), LONG(d), LONG(e), 0)
#define BY_NUMBER(...) NTH(__VA_ARGS__, 0, CALL5, CALL4, CALL3, CALL2, CALL1, CALL0)(__VA_ARGS__)
/* The function, or the system call behind it. */
#define MAKE(function, ...) ((int)(way == FUNCTION ? LONG(function) : BY_NUMBER(__VA_ARGS__)))

static void say(const char *format, ...) {
    char line[512];
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    if (write(output, line, length) != length) _exit(99);
}

static void need(int holds, const char *what) {
    if (!holds) {
        say("%s: %s\n", what, strerror(errno));
        _exit(98);
    }
}

/* What is not to be had here is said, in words that the test knows. */
static void not_here(void) {
    say("not here: %s\n", strerror(errno));
    _exit(0);
}

static int end_unseen(int fd) { return instruction(SYS_close, fd, 0, 0, 0, 0, 0); }

static int open_file(void) { return open(file_name, O_RDWR | O_APPEND); }

static void in_file(const char *what) {
    char text[64] = {0};
    int fd = open_file();
    need(fd >= 0 && read(fd, text, sizeof text - 1) >= 0, "file");
    close(fd);
    say("%s: in the file is '%s'\n", what, text);
}

/* All that comes, until the end or nothing more for seconds. */
static void hear(const char *who, int fd) {
    char text[256] = {0};
    size_t n = 0;
    const char *end = 0;
    while (!end) {
        struct pollfd waits = {fd, POLLIN, 0};
        if (poll(&waits, 1, 5000) == 0) {
            end = "silence";
            break;
        }
        ssize_t got = read(fd, text + n, sizeof text - 1 - n);
        if (got <= 0) end = got == 0 ? "end" : strerror(errno);
        else n += got;
    }
    say("%s hears '%s', then %s\n", who, text, end);
}

/* As many bytes as are expected, and no more waiting. */
static void hear_bytes(const char *who, int fd, int count) {
    char text[64] = {0};
    need(recv(fd, text, count, MSG_WAITALL) == count, who);
    say("%s hears '%s'\n", who, text);
}

static void connection(int *ours, int *theirs) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(listener, (void *)&name, sizeof name) == 0 && listen(listener, 5) == 0, "listen");
    getsockname(listener, (void *)&name, &length);
    *theirs = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(*theirs, (void *)&name, sizeof name) == 0, "connect");
    *ours = accept(listener, 0, 0);
    need(*ours >= 0, "accept");
}

/* A connection whose end has the number that something already has. */
static void put_victim(void) {
    int end;
    connection(&end, &peer);
    need(dup2(end, VICTIM) == VICTIM && close(end) == 0, "victim");
}

static void set_up(void) {
    need(open("/dev/null", O_RDONLY) == VICTIM, "the lowest number");
    connection(&other, &other_peer);
    put_victim();
}

/* The victim was ended. By an instruction, that is found out only when its number is used. */
static void is_ended(void) {
    if (way != INSTRUCTION) hear("the peer", peer);
    need(open_file() == VICTIM, "the number is free");
    say("written %zd\n", write(VICTIM, "secret", 6));
    in_file("after it was ended");
    if (way == INSTRUCTION) hear("the peer", peer);
}

/* The C library ended the victim by a call of its own, unseen. */
static void is_ended_within(void) {
    int before = way;
    way = INSTRUCTION;
    is_ended();
    way = before;
}

static void is_alive(void) {
    say("written %zd\n", write(VICTIM, "alive", 5));
    hear_bytes("the peer", peer, 5);
}

/* The victim's number has another file now. */
static void is_made(long made) {
    if (made < 0) not_here();
    say("number %ld\n", made);
    ssize_t n = write(VICTIM, "secret", 6);
    say("written %zd %s\n", n, n < 0 ? strerror(errno) : "");
    struct pollfd waits = {VICTIM, POLLIN | POLLOUT, 0};
    need(poll(&waits, 1, 0) >= 0, "poll");
    hear("the peer", peer);
}

/* As before, for what is of the stack and was made by an instruction: nobody carries it, and it is not the old connection. */
static void is_made_uncarried(long made) {
    need(made == VICTIM, "number");
    signal(SIGPIPE, SIG_IGN);
    (void)!write(VICTIM, "secret", 6);
    hear("the peer", peer);
}

/* A duplicate of the victim is as good as the victim, and lives on without it. */
static void is_duplicate(int new) {
    need(new >= 0, "duplicate");
    say("written %zd\n", write(new, "both", 4));
    close(VICTIM);
    say("written %zd\n", write(new, "one", 3));
    hear_bytes("the peer", peer, 7);
    close(new);
    hear("the peer", peer);
}

/* --- ends --- */

static void ends_close(void) { set_up(); need(MAKE(close(VICTIM), SYS_close, VICTIM) == 0, "close"); is_ended(); }
static void ends_close_range(void) {
    set_up();
    need(MAKE(close_range(VICTIM, VICTIM, 0), SYS_close_range, VICTIM, VICTIM, 0) == 0, "close_range");
    is_ended();
}
static void ends_close_range_cloexec(void) {
    set_up();
    need(MAKE(close_range(VICTIM, VICTIM, CLOSE_RANGE_CLOEXEC), SYS_close_range, VICTIM, VICTIM, CLOSE_RANGE_CLOEXEC) == 0, "close_range");
    say("flag %d\n", fcntl(VICTIM, F_GETFD));
    is_alive();
}
static void *ends_in_thread(void *unused) {
    (void)unused;
    need(MAKE(close_range(VICTIM, VICTIM, CLOSE_RANGE_UNSHARE), SYS_close_range, VICTIM, VICTIM, CLOSE_RANGE_UNSHARE) == 0, "close_range");
    say("in the thread: %s\n", write(VICTIM, "gone", 4) < 0 ? strerror(errno) : "written");
    return 0;
}
static void ends_close_range_unshare(void) {
    pthread_t thread;
    set_up();
    need(pthread_create(&thread, 0, ends_in_thread, 0) == 0 && pthread_join(thread, 0) == 0, "thread");
    is_alive();
    /* Alone, the process keeps its table. */
    ends_in_thread(0);
    is_ended();
}
static void ends_closefrom(void) {
    set_up();
    /* Beyond the victim nothing is left of the peer either, so that another process keeps it. */
    need(dup2(VICTIM, 100) == 100, "dup2");
    close(VICTIM);
    need(open("/dev/null", O_RDONLY) == VICTIM, "number");
    closefrom(100);
    hear("the peer", peer);
    say("100: %s\n", fcntl(100, F_GETFD) < 0 ? strerror(errno) : "open");
    int fd = open_file();
    need(dup2(fd, 100) == 100, "number");
    say("written %zd\n", write(100, "secret", 6));
    in_file("after closefrom");
}
static FILE *stream;
static void ends_fclose(void) {
    stream = fopen("/dev/null", "r");
    need(fileno(stream) == VICTIM, "the lowest number");
    put_victim();
    need(fclose(stream) == 0, "fclose");
    is_ended();
}
static void ends_fclose_fdopen(void) {
    set_up();
    stream = fdopen(VICTIM, "w");
    need(stream && fileno(stream) == VICTIM && fputs("held back", stream) >= 0, "fdopen");
    need(fclose(stream) == 0, "fclose");
    is_ended();
}
static void ends_freopen(void) {
    stream = fopen("/dev/null", "r");
    need(fileno(stream) == VICTIM, "the lowest number");
    put_victim();
    need(freopen(file_name, "a", stream) == stream, "freopen");
    hear("the peer", peer);
    say("number %d, written %zd\n", fileno(stream), write(VICTIM, "secret", 6));
    in_file("after freopen");
}
static void ends_closedir(void) {
    DIR *folder = opendir("/");
    need(dirfd(folder) == VICTIM, "the lowest number");
    put_victim();
    need(closedir(folder) == 0, "closedir");
    is_ended_within();
}
static void ends_mq_close(void) { set_up(); need(mq_close(VICTIM) == 0, "mq_close"); is_ended_within(); }

/* --- duplicates --- */

static void makes_dup(void) {
    set_up();
    if (way != INSTRUCTION) return is_duplicate(MAKE(dup(VICTIM), SYS_dup, VICTIM));
    end_unseen(VICTIM);
    is_made_uncarried(BY_NUMBER(SYS_dup, other));
}
static void makes_dup2(void) {
    set_up();
    need(MAKE(dup2(-1, VICTIM), SYS_dup2, -1, VICTIM) < 0 && errno == EBADF, "nothing");
    is_alive();
    int made = MAKE(dup2(other, VICTIM), SYS_dup2, other, VICTIM);
    if (way == INSTRUCTION) return is_made_uncarried(made);
    hear("the peer", peer);
    peer = other_peer;
    close(VICTIM);
    need(dup2(other, VICTIM) == VICTIM && close(other) == 0, "dup2");
    is_duplicate(MAKE(dup2(VICTIM, 90), SYS_dup2, VICTIM, 90));
}
static void makes_dup3(void) {
    set_up();
    need(MAKE(dup3(other, other, 0), SYS_dup3, other, other, 0) < 0 && errno == EINVAL, "itself");
    int made = MAKE(dup3(other, VICTIM, O_CLOEXEC), SYS_dup3, other, VICTIM, O_CLOEXEC);
    if (way == INSTRUCTION) return is_made_uncarried(made);
    hear("the peer", peer);
    peer = other_peer;
    close(other);
    is_duplicate(MAKE(dup3(VICTIM, 90, 0), SYS_dup3, VICTIM, 90, 0));
}
static void makes_fcntl(int command) {
    set_up();
    if (way != INSTRUCTION) return is_duplicate(MAKE(fcntl(VICTIM, command, 50), SYS_fcntl, VICTIM, command, 50));
    end_unseen(VICTIM);
    is_made_uncarried(BY_NUMBER(SYS_fcntl, other, command, 0));
}
static void makes_fcntl_dupfd(void) { makes_fcntl(F_DUPFD); }
static void makes_fcntl_dupfd_cloexec(void) { makes_fcntl(F_DUPFD_CLOEXEC); }
static void makes_pidfd_getfd(void) {
    set_up();
    int self = pidfd_open(getpid(), 0);
    need(self >= 0, "pidfd_open");
    if (way != INSTRUCTION) return is_duplicate(MAKE(pidfd_getfd(self, VICTIM, 0), SYS_pidfd_getfd, self, VICTIM, 0));
    end_unseen(VICTIM);
    is_made_uncarried(BY_NUMBER(SYS_pidfd_getfd, self, other, 0));
}
static void makes_login_tty(void) {
    int terminal, end;
    set_up();
    need(openpty(&terminal, &end, 0, 0, 0) == 0, "openpty");
    output = dup(1);
    need(dup2(VICTIM, 0) == 0, "dup2");
    pid_t child = fork();
    if (child == 0) {
        char text[16] = {0};
        need(login_tty(end) == 0, "login_tty");
        ssize_t n = write(0, "secret", 6);
        need(read(terminal, text, 6) == 6, "terminal");
        say("written %zd, on the terminal '%s'\n", n, text);
        _exit(0);
    }
    waitpid(child, 0, 0);
    is_alive();
}

/* --- descriptors in messages --- */

static char control[64];
static struct iovec byte = {"x", 1};
static struct msghdr carrying(int fd) {
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(sizeof fd)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return message;
}
static int carried(struct msghdr *message) {
    int fd = -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header) memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}
static void makes_sendmsg_rights(void) {
    int ends[2];
    set_up();
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    struct msghdr message = carrying(VICTIM);
    long sent = MAKE(sendmsg(ends[0], &message, 0), SYS_sendmsg, ends[0], &message, 0);
    say("sent: %s\n", sent < 0 ? strerror(errno) : "yes");
    struct mmsghdr many = {carrying(VICTIM), 0};
    sent = MAKE(sendmmsg(ends[0], &many, 1, 0), SYS_sendmmsg, ends[0], &many, 1, 0);
    say("sent: %s\n", sent < 0 ? strerror(errno) : "yes");
    is_alive();
}
static int receives(int many) {
    static char room[64], byte_room[1];
    static struct iovec into = {byte_room, 1};
    static struct mmsghdr message;
    int ends[2], passed = way == INSTRUCTION ? open_file() : listener;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    struct msghdr sent = carrying(passed);
    need(sendmsg(ends[0], &sent, 0) == 1, "sendmsg");
    if (way == INSTRUCTION) end_unseen(VICTIM);
    message.msg_hdr = (struct msghdr){.msg_iov = &into, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    int got = many ? MAKE(recvmmsg(ends[1], &message, 1, 0, 0), SYS_recvmmsg, ends[1], &message, 1, 0, 0)
                   : MAKE(recvmsg(ends[1], &message.msg_hdr, 0), SYS_recvmsg, ends[1], &message.msg_hdr, 0);
    need(got == 1, "recvmsg");
    return carried(&message.msg_hdr);
}
static void makes_received(int many) {
    set_up();
    int new = receives(many);
    if (way == INSTRUCTION) {
        is_made(new);
        return in_file("after it was received");
    }
    /* A listener of ours came back: it accepts under its new number, when the old one is closed. */
    struct sockaddr_in name;
    socklen_t length = sizeof name;
    getsockname(listener, (void *)&name, &length);
    close(listener);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(client, (void *)&name, length) == 0, "connect");
    int end = accept(new, 0, 0);
    say("accepted %d, written %zd\n", end >= 0, write(end, "hello", 5));
    hear_bytes("the client", client, 5);
    is_alive();
}
static void makes_recvmsg_rights(void) { makes_received(0); }
static void makes_recvmmsg_rights(void) { makes_received(1); }

/* --- makers --- */

/* Makes room for what the maker makes. */
static void vacate(void) { set_up(); end_unseen(VICTIM); }
#define MAKER(name, ...) static void makes_##name(void) { vacate(); is_made(MAKE(__VA_ARGS__)); }
#define SYSTEM_MAKER(name, ...) static void makes_##name(void) { vacate(); is_made(BY_NUMBER(__VA_ARGS__)); }
#define LIBRARY_MAKER(name, made) static void makes_##name(void) { vacate(); is_made(made); }
static int two[2];
static sigset_t no_signals;

MAKER(open, open(file_name, O_RDWR), SYS_open, file_name, O_RDWR, 0)
MAKER(openat, openat(AT_FDCWD, file_name, O_RDWR), SYS_openat, AT_FDCWD, file_name, O_RDWR, 0)
MAKER(creat, creat(file_name, 0600), SYS_creat, file_name, 0600)
MAKER(socket, socket(AF_UNIX, SOCK_STREAM, 0), SYS_socket, AF_UNIX, SOCK_STREAM, 0)
MAKER(eventfd, eventfd(0, 0), SYS_eventfd2, 0, 0)
MAKER(timerfd_create, timerfd_create(CLOCK_MONOTONIC, 0), SYS_timerfd_create, CLOCK_MONOTONIC, 0)
MAKER(signalfd, signalfd(-1, &no_signals, 0), SYS_signalfd4, -1, &no_signals, 8, 0)
MAKER(epoll_create, epoll_create(1), SYS_epoll_create, 1)
MAKER(epoll_create1, epoll_create1(0), SYS_epoll_create1, 0)
MAKER(inotify_init, inotify_init(), SYS_inotify_init)
MAKER(inotify_init1, inotify_init1(0), SYS_inotify_init1, 0)
MAKER(fanotify_init, fanotify_init(FAN_CLASS_NOTIF, O_RDONLY), SYS_fanotify_init, FAN_CLASS_NOTIF, O_RDONLY)
MAKER(memfd_create, memfd_create("m", 0), SYS_memfd_create, "m", 0)
SYSTEM_MAKER(memfd_secret, SYS_memfd_secret, 0)
SYSTEM_MAKER(userfaultfd, SYS_userfaultfd, O_CLOEXEC)
SYSTEM_MAKER(pidfd_open, SYS_pidfd_open, getpid(), 0)
SYSTEM_MAKER(open_tree, SYS_open_tree, AT_FDCWD, "/", O_CLOEXEC)
SYSTEM_MAKER(open_tree_attr, SYS_open_tree_attr, AT_FDCWD, "/", O_CLOEXEC, 0, 0)
SYSTEM_MAKER(fsopen, SYS_fsopen, "tmpfs", 0)
SYSTEM_MAKER(fspick, SYS_fspick, AT_FDCWD, "/", 0)
LIBRARY_MAKER(fopen, fileno(fopen(file_name, "r+")))
LIBRARY_MAKER(tmpfile, fileno(tmpfile()))
LIBRARY_MAKER(opendir, dirfd(opendir("/")))
LIBRARY_MAKER(popen, fileno(popen("true", "r")))
static void makes_openat2(void) {
    struct open_how how = {.flags = O_RDWR};
    vacate();
    is_made(BY_NUMBER(SYS_openat2, AT_FDCWD, file_name, &how, sizeof how));
}
static void makes_socketpair(void) {
    vacate();
    int made = MAKE(socketpair(AF_UNIX, SOCK_STREAM, 0, two), SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, two);
    is_made(made < 0 ? made : two[0]);
}
static void makes_pipe(void) { vacate(); int made = MAKE(pipe(two), SYS_pipe, two); is_made(made < 0 ? made : two[0]); }
static void makes_pipe2(void) { vacate(); int made = MAKE(pipe2(two, 0), SYS_pipe2, two, 0); is_made(made < 0 ? made : two[0]); }
static void makes_open_by_handle_at(void) {
    static union { struct file_handle handle; char room[128]; } at = {.handle.handle_bytes = 96};
    int mount;
    if (name_to_handle_at(AT_FDCWD, file_name, &at.handle, &mount, 0) != 0) not_here();
    set_up();
    int folder = open(file_name, O_RDONLY);
    end_unseen(VICTIM);
    is_made(MAKE(open_by_handle_at(folder, &at.handle, O_RDWR), SYS_open_by_handle_at, folder, &at.handle, O_RDWR));
}
static void makes_fsmount(void) {
    set_up();
    int context = syscall(SYS_fsopen, "tmpfs", 0);
    if (context < 0 || syscall(SYS_fsconfig, context, 6 /* create */, 0, 0, 0) < 0) not_here();
    end_unseen(VICTIM);
    is_made(BY_NUMBER(SYS_fsmount, context, 0, 0));
}
static void makes_accepted(int four) {
    set_up();
    int from = listener, client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name;
    socklen_t length = sizeof name;
    getsockname(listener, (void *)&name, &length);
    if (way == INSTRUCTION) {
        /* One of the kernel's own. */
        struct sockaddr_un local = {.sun_family = AF_UNIX};
        length = sizeof(sa_family_t);
        from = socket(AF_UNIX, SOCK_STREAM, 0);
        need(bind(from, (void *)&local, length) == 0 && listen(from, 1) == 0, "listen");
        length = sizeof local;
        getsockname(from, (void *)&local, &length);
        close(client);
        client = socket(AF_UNIX, SOCK_STREAM, 0);
        need(connect(client, (void *)&local, length) == 0, "connect");
    } else {
        need(connect(client, (void *)&name, length) == 0, "connect");
    }
    end_unseen(VICTIM);
    is_made(four ? MAKE(accept4(from, 0, 0, 0), SYS_accept4, from, 0, 0, 0) : MAKE(accept(from, 0, 0), SYS_accept, from, 0, 0));
    hear_bytes("the client", client, 6);
}
static void makes_accept(void) { makes_accepted(0); }
static void makes_accept4(void) { makes_accepted(1); }
static void makes_fanotify_read(void) {
    static union { struct fanotify_event_metadata event; char room[4096]; } told;
    set_up();
    int watch = fanotify_init(FAN_CLASS_NOTIF, O_RDWR);
    if (watch < 0 || fanotify_mark(watch, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, file_name) < 0) not_here();
    end_unseen(open_file());
    end_unseen(VICTIM);
    need(MAKE(read(watch, &told, sizeof told), SYS_read, watch, &told, sizeof told) > 0, "event");
    is_made(told.event.fd);
    in_file("after the event");
}
static void makes_mq_open(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    char name[64];
    snprintf(name, sizeof name, "/assay-%d", getpid());
    vacate();
    long made = MAKE(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes), SYS_mq_open, name + 1, O_RDWR | O_CREAT, 0600, &attributes);
    mq_unlink(name);
    is_made(made);
}
static void makes_ioctl_tiocgptpeer(void) {
    set_up();
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || unlockpt(terminal) < 0) not_here();
    end_unseen(VICTIM);
    is_made(MAKE(ioctl(terminal, TIOCGPTPEER, O_RDWR), SYS_ioctl, terminal, TIOCGPTPEER, O_RDWR));
}
static void makes_ioctl_ns_get_userns(void) {
    set_up();
    int space = open("/proc/self/ns/net", O_RDONLY);
    if (space < 0) not_here();
    end_unseen(VICTIM);
    is_made(MAKE(ioctl(space, NS_GET_USERNS), SYS_ioctl, space, NS_GET_USERNS));
}
static void makes_perf_event_open(void) {
    struct perf_event_attr what = {.type = PERF_TYPE_SOFTWARE, .size = sizeof what, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1};
    vacate();
    is_made(BY_NUMBER(SYS_perf_event_open, &what, 0, -1, -1, 0));
}
static void makes_bpf(void) {
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    vacate();
    is_made(BY_NUMBER(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
}
static void makes_landlock_create_ruleset(void) {
    struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE};
    vacate();
    is_made(BY_NUMBER(SYS_landlock_create_ruleset, &rules, sizeof rules, 0));
}
static void makes_seccomp_listener(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    vacate();
    is_made(BY_NUMBER(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}
static void makes_io_uring_setup(void) {
    static char parameters[120];
    if (way == INSTRUCTION) {
        vacate();
        return is_made(BY_NUMBER(SYS_io_uring_setup, 4, parameters));
    }
    set_up();
    say("made: %s\n", BY_NUMBER(SYS_io_uring_setup, 4, parameters) < 0 ? strerror(errno) : "yes");
}
static void makes_mkstemp(void) {
    char name[] = "/tmp/assay-mkstemp-XXXXXX";
    vacate();
    int made = mkstemp(name);
    unlink(name);
    is_made(made);
}
static void makes_openpty(void) {
    int terminal, end;
    vacate();
    is_made(openpty(&terminal, &end, 0, 0, 0) < 0 ? -1 : terminal);
}
static void makes_shm_open(void) {
    char name[64];
    snprintf(name, sizeof name, "/assay-%d", getpid());
    vacate();
    int made = shm_open(name, O_RDWR | O_CREAT, 0600);
    shm_unlink(name);
    is_made(made);
}

/* --- processes --- */

static void ends_child(pid_t child) {
    int status;
    need(waitpid(child, &status, 0) == child, "waitpid");
    say("the child ended with %d\n", status);
}
static int leaves(void *unused) { (void)unused; _exit(0); }
static void makes_clone_pidfd(void) {
    static char stack[65536] __attribute__((aligned(16)));
    static int child;
    vacate();
    long made = MAKE(clone(leaves, stack + sizeof stack, CLONE_PIDFD | SIGCHLD, 0, &child), SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &child);
    if (made == 0) _exit(0);
    is_made(made < 0 ? made : child);
}
/* The child closes what it has got; the parent keeps its own. */
static void child_closes(pid_t child) {
    need(child >= 0, "fork");
    if (child == 0) {
        int closed = close(VICTIM);
        int fd = open_file();
        (void)!write(fd, "from the child", 14);
        _exit(closed == 0 && fd == VICTIM ? 0 : 1);
    }
    ends_child(child);
    in_file("after the child");
    is_alive();
    close(VICTIM);
    hear("the peer", peer);
}
static void parts_fork(void) { set_up(); child_closes(MAKE(fork(), SYS_fork)); }
static void parts__Fork(void) { set_up(); child_closes(_Fork()); }
static void parts_vfork(void) {
    set_up();
    pid_t child = vfork();
    if (child == 0) {
        close(VICTIM);
        int fd = open_file();
        (void)!write(fd, "from the child", 14);
        _exit(fd == VICTIM ? 0 : 1);
    }
    ends_child(child);
    in_file("after the child");
    is_alive();
}
static void parts_daemon(void) {
    set_up();
    output = dup(1);
    int done[2];
    need(pipe(done) == 0 && dup2(VICTIM, 0) == 0, "dup2");
    pid_t child = fork();
    if (child == 0) {
        need(daemon(1, 0) == 0, "daemon");
        say("written %zd\n", write(0, "secret", 6));
        _exit(0);
    }
    close(done[1]);
    (void)!read(done[0], &child, 1);
    waitpid(child, 0, 0);
    is_alive();
}
extern char **environ;
static void parts_posix_spawn(void) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    char *arguments[] = {"cat", 0};
    set_up();
    int file = open_file();
    need(write(file, "spawned\n", 8) == 8 && lseek(file, 0, SEEK_SET) == 0, "file");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file, VICTIM);
    posix_spawn_file_actions_adddup2(&actions, VICTIM, 0);
    posix_spawn_file_actions_addclose(&actions, peer);
    posix_spawn_file_actions_addclose(&actions, VICTIM);
    need(posix_spawn(&child, "/bin/cat", &actions, 0, arguments, environ) == 0, "posix_spawn");
    ends_child(child);
    is_alive();
}
static void *unshares(void *unused) {
    (void)unused;
    need(MAKE(unshare(CLONE_FILES), SYS_unshare, CLONE_FILES) == 0, "unshare");
    close(VICTIM);
    say("in the thread: %s\n", write(VICTIM, "gone", 4) < 0 ? strerror(errno) : "written");
    return 0;
}
static void parts_unshare_files(void) {
    pthread_t thread;
    set_up();
    need(pthread_create(&thread, 0, unshares, 0) == 0 && pthread_join(thread, 0) == 0, "thread");
    is_alive();
    unshares(0);
    is_ended();
}
/* A server in a child writes without waiting, and then ends as `how` says: its client hears all of it. */
static void last_words(void (*how)(void)) {
    int ports[2];
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    need(pipe(ports) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        need(bind(listener, (void *)&name, length) == 0 && listen(listener, 5) == 0, "listen");
        getsockname(listener, (void *)&name, &length);
        fcntl(listener, F_SETFL, O_NONBLOCK);
        (void)!accept(listener, 0, 0);
        (void)!write(ports[1], &name, sizeof name);
        struct pollfd waits = {listener, POLLIN, 0};
        need(poll(&waits, 1, 60000) == 1, "client");
        int end = accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
        need(write(end, "last words", 10) == 10, "write");
        fcntl(listener, F_SETFD, FD_CLOEXEC);
        how();
        _exit(97);
    }
    need(read(ports[0], &name, sizeof name) == sizeof name, "port");
    int client = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(client, (void *)&name, sizeof name) == 0, "connect");
    hear("the client", client);
    ends_child(child);
}
static char *const nothing[] = {"true", 0};
static void by_execve(void) { MAKE(execve("/bin/true", nothing, environ), SYS_execve, "/bin/true", nothing, environ); }
static void by_execveat(void) {
    MAKE(execveat(AT_FDCWD, "/bin/true", nothing, environ, 0), SYS_execveat, AT_FDCWD, "/bin/true", nothing, environ, 0);
}
static void by_exit_group(void) { if (way == FUNCTION) _exit(0); else BY_NUMBER(SYS_exit_group, 0); }
static void by_execv(void) { execv("/bin/true", nothing); }
static void by_execvp(void) { execvp("true", nothing); }
static void by_execvpe(void) { execvpe("true", nothing, environ); }
static void by_fexecve(void) { fexecve(open("/bin/true", O_RDONLY), nothing, environ); }
static void parts_execve(void) { last_words(by_execve); }
static void parts_execveat(void) { last_words(by_execveat); }
static void parts_execv(void) { last_words(by_execv); }
static void parts_execvp(void) { last_words(by_execvp); }
static void parts_execvpe(void) { last_words(by_execvpe); }
static void parts_fexecve(void) { last_words(by_fexecve); }
static void parts_exit_group(void) { last_words(by_exit_group); }

#define CASE(kind, name) {#name, kind##_##name}
static const struct { const char *name; void (*run)(void); } CASES[] = {
    CASE(ends, close), CASE(ends, close_range), CASE(ends, close_range_cloexec), CASE(ends, close_range_unshare),
    CASE(ends, closefrom), CASE(ends, fclose), CASE(ends, fclose_fdopen), CASE(ends, freopen), CASE(ends, closedir),
    CASE(ends, mq_close),
    CASE(makes, dup), CASE(makes, dup2), CASE(makes, dup3), CASE(makes, fcntl_dupfd), CASE(makes, fcntl_dupfd_cloexec),
    CASE(makes, pidfd_getfd), CASE(makes, login_tty), CASE(makes, sendmsg_rights), CASE(makes, recvmsg_rights),
    CASE(makes, recvmmsg_rights), CASE(makes, accept), CASE(makes, accept4),
    CASE(makes, open), CASE(makes, openat), CASE(makes, openat2), CASE(makes, creat), CASE(makes, open_by_handle_at),
    CASE(makes, open_tree), CASE(makes, open_tree_attr), CASE(makes, fsopen), CASE(makes, fsmount), CASE(makes, fspick),
    CASE(makes, socket), CASE(makes, socketpair), CASE(makes, pipe), CASE(makes, pipe2), CASE(makes, eventfd),
    CASE(makes, signalfd), CASE(makes, timerfd_create), CASE(makes, epoll_create), CASE(makes, epoll_create1),
    CASE(makes, inotify_init), CASE(makes, inotify_init1), CASE(makes, fanotify_init), CASE(makes, fanotify_read),
    CASE(makes, memfd_create), CASE(makes, memfd_secret), CASE(makes, mq_open), CASE(makes, ioctl_tiocgptpeer),
    CASE(makes, ioctl_ns_get_userns), CASE(makes, userfaultfd), CASE(makes, perf_event_open), CASE(makes, bpf),
    CASE(makes, pidfd_open), CASE(makes, landlock_create_ruleset), CASE(makes, seccomp_listener), CASE(makes, io_uring_setup),
    CASE(makes, fopen), CASE(makes, tmpfile), CASE(makes, mkstemp), CASE(makes, opendir), CASE(makes, popen),
    CASE(makes, openpty), CASE(makes, shm_open), CASE(makes, clone_pidfd),
    CASE(parts, fork), CASE(parts, vfork), CASE(parts, _Fork), CASE(parts, daemon), CASE(parts, posix_spawn),
    CASE(parts, unshare_files), CASE(parts, execve), CASE(parts, execveat), CASE(parts, execv), CASE(parts, execvp),
    CASE(parts, execvpe), CASE(parts, fexecve), CASE(parts, exit_group),
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

int main(int count, char **arguments) {
    if (count == 2 && !strcmp(arguments[1], "--list")) {
        for (int i = 0; i < CASE_COUNT; i++) say("%s\n", CASES[i].name);
        return 0;
    }
    need(count == 4, "descriptors CALL WAY FILE");
    file_name = arguments[3];
    while (way < 2 && strcmp(arguments[2], WAYS[way])) way++;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < CASE_COUNT; i++) {
        if (!strcmp(CASES[i].name, arguments[1])) {
            CASES[i].run();
            say("done\n");
            return 0;
        }
    }
    say("no such call\n");
    return 1;
}
