/* Calls on a connection by number, through streams of the C library, select(2) beyond the 1024 descriptors of its type, and a file that
 * cannot be read to its end:
 * `calls WHAT` prints the same on every stack. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int one, other, listener;
static struct sockaddr_in name = {.sin_family = AF_INET};
static socklen_t length = sizeof name;

static void need(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(98);
    }
}

static void connection(void) {
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(listener, (void *)&name, sizeof name) == 0 && listen(listener, 5) == 0, "listen");
    getsockname(listener, (void *)&name, &length);
    one = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(one, (void *)&name, sizeof name) == 0, "connect");
    other = accept(listener, 0, 0);
    need(other >= 0, "accept");
}

static void say(const char *what, long result) { printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : ""); }

static void by_number(void) {
    char room[64] = {0};
    struct iovec parts[] = {{"par", 3}, {"ts", 2}}, rooms[] = {{room, 2}, {room + 10, 20}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2}, into = {.msg_iov = rooms, .msg_iovlen = 2};
    struct timespec now = {0, 0};
    int number = 0, off = 0;
    socklen_t size = sizeof number;
    int end = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0), server = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    say("bind", syscall(SYS_bind, server, &there, sizeof there));
    say("listen", syscall(SYS_listen, server, 5));
    say("getsockname", syscall(SYS_getsockname, server, &there, &length));
    say("connect", syscall(SYS_connect, end, &there, sizeof there));
    int accepted = syscall(SYS_accept4, server, 0, 0, SOCK_NONBLOCK);
    say("accept4", accepted >= 0);
    say("nothing", syscall(SYS_read, accepted, room, 1));
    say("getpeername", syscall(SYS_getpeername, end, &name, &length));
    say("the same", name.sin_port == there.sin_port);
    close(accepted);
    say("write", syscall(SYS_write, one, "written", 7));
    say("read", syscall(SYS_read, other, room, 64));
    say("sendto", syscall(SYS_sendto, one, "sent", 4, 0, 0, 0));
    say("recvfrom", syscall(SYS_recvfrom, other, room, 64, 0, 0, 0));
    say("writev", syscall(SYS_writev, one, parts, 2));
    say("readv", syscall(SYS_readv, other, rooms, 2));
    printf("%.2s %.3s\n", room, room + 10);
    say("sendmsg", syscall(SYS_sendmsg, one, &message, 0));
    struct pollfd waits = {other, POLLIN, 0};
    say("ppoll", syscall(SYS_ppoll, &waits, 1, 0, 0, 8));
    say("FIONREAD", syscall(SYS_ioctl, other, FIONREAD, &number));
    say("bytes", number);
    say("recvmsg", syscall(SYS_recvmsg, other, &into, 0));
    int set = syscall(SYS_epoll_create1, 0);
    struct epoll_event event = {EPOLLIN, {.u64 = 7}};
    say("epoll_ctl", syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, other, &event));
    say("epoll_pwait2", syscall(SYS_epoll_pwait2, set, &event, 1, &now, 0, 8));
    say("FIONBIO", (number = 1, syscall(SYS_ioctl, other, FIONBIO, &number)));
    say("nothing", syscall(SYS_read, other, room, 1));
    say("F_SETFL", syscall(SYS_fcntl, other, F_SETFL, 0));
    say("getsockopt", syscall(SYS_getsockopt, other, SOL_SOCKET, SO_ERROR, &off, &size));
    FILE *file = tmpfile();
    need(fputs("from a file", file) >= 0 && fflush(file) == 0, "file");
    off_t from = 5;
    say("sendfile", syscall(SYS_sendfile, one, fileno(file), &from, 100));
    say("epoll_pwait", syscall(SYS_epoll_pwait, set, &event, 1, -1, 0, 8));
    say("data", event.data.u64);
    say("read", syscall(SYS_read, other, room, 64));
    printf("%.6s\n", room);
    say("shutdown", syscall(SYS_shutdown, one, SHUT_WR));
    say("end", syscall(SYS_read, other, room, 64));
}

static void by_stream(void) {
    char line[100];
    FILE *in = fdopen(other, "r"), *out = fdopen(dup(one), "w");
    printf("numbers %d %d\n", fileno(in) == other, fileno(out) > other);
    fprintf(out, "line %d\nanother line\nand %s", 1, "more");
    say("flushed", fflush(out));
    while (fgets(line, 8, in) && !strchr(line, 'm')) printf("[%s]", line);
    printf("[%s]\n", line);
    say("a character", (fputc('x', out), fflush(out), fgetc(in)));
    fwrite("0123456789", 1, 10, out);
    fclose(out);
    shutdown(one, SHUT_WR);
    say("rest", fread(line, 1, sizeof line, in));
    printf("%d %d %d\n", feof(in) != 0, ferror(in), fgetc(in));
    say("seek", fseek(in, 0, SEEK_SET));

    FILE *both = fdopen(one, "r+");
    setvbuf(both, 0, _IONBF, 0);
    write(other, "reply\n", 6);
    printf("[%s]\n", fgets(line, sizeof line, both));
    say("closed", fclose(both));
    say("number", fcntl(one, F_GETFD));
    signal(SIGPIPE, SIG_IGN);
    FILE *late = fdopen(other, "w");
    setvbuf(late, 0, _IOLBF, 4096);
    for (int i = 0; i < 100 && !ferror(late); i++) {
        fputs("too late\n", late);
        usleep(1000);
    }
    printf("an error %d\n", ferror(late) != 0);
    fclose(late);
    fclose(in);
}

/* Sets with room for as many descriptors as there are. */
enum { HIGH = 3000, WORDS = 4096 / 64 };
static unsigned long readable[WORDS], writable[WORDS];
static void put(unsigned long *set, int fd) { set[fd / 64] |= 1ul << fd % 64; }
static int has(unsigned long *set, int fd) { return set[fd / 64] >> fd % 64 & 1; }

static void by_select(void) {
    struct rlimit limit = {4096, 4096};
    struct timeval at_once = {0, 0}, while_long = {60, 0};
    int pipe_ends[2];
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0 && pipe(pipe_ends) == 0, "limit");
    int high = dup2(other, HIGH), high_pipe = dup2(pipe_ends[0], HIGH + 1);
    need(high == HIGH && high_pipe == HIGH + 1, "dup2");
    put(readable, high), put(writable, high), put(readable, high_pipe);
    say("writable", select(HIGH + 2, (void *)readable, (void *)writable, 0, &at_once));
    printf("%d %d %d\n", has(readable, high), has(writable, high), has(readable, high_pipe));
    write(one, "x", 1), write(pipe_ends[1], "x", 1);
    struct pollfd waits[] = {{high, POLLIN, 0}, {high_pipe, POLLIN, 0}};
    while (poll(waits, 2, -1) < 2) {}
    /* What a call before has left there is not the answer of this one. */
    struct pollfd again[] = {{high, POLLOUT, POLLIN | POLLHUP}, {-1, POLLIN, POLLIN}};
    say("left over", poll(again, 2, 0));
    printf("%d %d\n", again[0].revents == POLLOUT, again[1].revents);
    memset(writable, 0, sizeof writable);
    put(readable, high), put(readable, high_pipe), put(readable, other);
    say("readable", select(4096, (void *)readable, (void *)writable, 0, &while_long));
    printf("%d %d %d\n", has(readable, high), has(readable, high_pipe), has(readable, other));
    say("fewer", select(HIGH + 1, (void *)readable, 0, 0, &while_long));
    printf("%d %d %d\n", has(readable, high), has(readable, high_pipe), has(readable, other));
    put(readable, HIGH + 50);
    say("not open", select(4096, (void *)readable, 0, 0, &while_long));
    /* A count beyond what there can be is no promise that the set is so large. */
    fd_set small;
    FD_ZERO(&small);
    FD_SET(other, &small);
    close(high), close(high_pipe);
    say("small", select(FD_SETSIZE, &small, 0, 0, &while_long));
    say("negative", select(-1, &small, 0, 0, &while_long));
}

/* From here on pread64(2) fails beyond so many bytes of any file; sendfile(2) of the kernel makes no such call. */
static void break_files(unsigned offset) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* seccomp_data: the number, then the arguments from 16 on */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + 3 * 8),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, offset, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

static void by_sendfile(void) {
    enum { BYTES = 80000 };
    static char bytes[BYTES];
    FILE *file = tmpfile();
    need(fwrite(bytes, 1, BYTES, file) == BYTES && fflush(file) == 0, "file");
    break_files(1000);
    off_t from = 0;
    long sent = sendfile(one, fileno(file), &from, BYTES), got = 0, n;
    shutdown(one, SHUT_WR);
    while ((n = read(other, bytes, BYTES)) > 0) got += n;
    printf("what is told is what was sent: %d %d\n", sent > 0 && sent == got, from == sent);
}

int main(int count, char **arguments) {
    need(count == 2, "calls WHAT");
    setvbuf(stdout, 0, _IOLBF, 0);
    connection();
    if (!strcmp(arguments[1], "numbers")) by_number();
    if (!strcmp(arguments[1], "streams")) by_stream();
    if (!strcmp(arguments[1], "select")) by_select();
    if (!strcmp(arguments[1], "sendfile")) by_sendfile();
    puts("done");
    return 0;
}
