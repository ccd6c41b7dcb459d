//! Names of the system calls that servers make (syscalls(2)).

/// The name of a system call; its number where it has none here.
pub(crate) fn name_of(number: i64) -> String {
    let known = NAMES.iter().chain(NAMES_OF_X86_64).find(|(known, _)| *known == number);
    known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

macro_rules! names {
    ($($number:ident $name:ident),* $(,)?) => { &[$((libc::$number, stringify!($name))),*] };
}

const NAMES: &[(i64, &str)] = names![
    SYS_accept accept, SYS_accept4 accept4, SYS_bind bind, SYS_brk brk, SYS_clock_gettime clock_gettime,
    SYS_clock_nanosleep clock_nanosleep, SYS_clone clone, SYS_clone3 clone3, SYS_close close, SYS_connect connect, SYS_dup dup,
    SYS_dup3 dup3, SYS_epoll_create1 epoll_create1, SYS_epoll_ctl epoll_ctl, SYS_epoll_pwait epoll_pwait,
    SYS_epoll_pwait2 epoll_pwait2, SYS_eventfd2 eventfd2, SYS_execve execve, SYS_exit exit, SYS_exit_group exit_group,
    SYS_faccessat faccessat, SYS_fcntl fcntl, SYS_fdatasync fdatasync, SYS_fstat fstat, SYS_fsync fsync, SYS_ftruncate ftruncate,
    SYS_futex futex, SYS_futex_waitv futex_waitv, SYS_getcpu getcpu, SYS_getpeername getpeername, SYS_getpid getpid,
    SYS_getppid getppid, SYS_getrandom getrandom, SYS_getrusage getrusage, SYS_getsockname getsockname,
    SYS_getsockopt getsockopt, SYS_gettid gettid, SYS_gettimeofday gettimeofday, SYS_io_getevents io_getevents,
    SYS_io_submit io_submit, SYS_io_uring_enter io_uring_enter, SYS_io_uring_register io_uring_register,
    SYS_io_uring_setup io_uring_setup, SYS_ioctl ioctl, SYS_kill kill, SYS_listen listen, SYS_lseek lseek, SYS_madvise madvise,
    SYS_membarrier membarrier, SYS_mmap mmap, SYS_mprotect mprotect, SYS_mremap mremap, SYS_munmap munmap,
    SYS_nanosleep nanosleep, SYS_newfstatat newfstatat, SYS_openat openat, SYS_pipe2 pipe2, SYS_ppoll ppoll, SYS_prctl prctl, SYS_pread64 pread64,
    SYS_preadv preadv, SYS_preadv2 preadv2, SYS_pselect6 pselect6, SYS_pwrite64 pwrite64, SYS_pwritev pwritev,
    SYS_pwritev2 pwritev2, SYS_read read, SYS_readv readv, SYS_recvfrom recvfrom, SYS_recvmmsg recvmmsg, SYS_recvmsg recvmsg,
    SYS_restart_syscall restart_syscall, SYS_rt_sigaction rt_sigaction, SYS_rt_sigprocmask rt_sigprocmask,
    SYS_rt_sigreturn rt_sigreturn, SYS_rt_sigtimedwait rt_sigtimedwait, SYS_sched_getaffinity sched_getaffinity,
    SYS_sched_yield sched_yield, SYS_sendfile sendfile, SYS_sendmmsg sendmmsg, SYS_sendmsg sendmsg, SYS_sendto sendto,
    SYS_setsockopt setsockopt, SYS_shutdown shutdown, SYS_sigaltstack sigaltstack, SYS_socket socket,
    SYS_socketpair socketpair, SYS_splice splice, SYS_statx statx, SYS_tgkill tgkill, SYS_timerfd_settime timerfd_settime,
    SYS_uname uname, SYS_unlinkat unlinkat, SYS_wait4 wait4, SYS_waitid waitid, SYS_write write, SYS_writev writev,
];

#[cfg(target_arch = "x86_64")]
const NAMES_OF_X86_64: &[(i64, &str)] = names![
    SYS_access access, SYS_epoll_wait epoll_wait, SYS_fork fork, SYS_lstat lstat, SYS_open open,
    SYS_pause pause, SYS_poll poll, SYS_readlink readlink, SYS_select select, SYS_stat stat, SYS_time time, SYS_unlink unlink,
    SYS_vfork vfork,
];
/// Younger architectures have none of these.
#[cfg(not(target_arch = "x86_64"))]
const NAMES_OF_X86_64: &[(i64, &str)] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_keeps_its_number() {
        assert_eq!((name_of(libc::SYS_writev), name_of(99_999)), ("writev".to_owned(), "99999".to_owned()));
    }
}
