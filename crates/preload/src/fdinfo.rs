//! What the kernel tells of descriptors: of an epoll instance (proc_pid_fdinfo(5)), of all of a process (proc_pid_status(5)),
//! and of the threads that share them (proc_pid_stat(5)).

use std::os::fd::RawFd;

use rustix::event::epoll::EventFlags;

/// One descriptor that an epoll instance watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) flags: EventFlags,
    pub(crate) data: u64,
}

/// What `text`, the description of an epoll instance, says of the descriptor `fd` for the file `inode`. A descriptor that was
/// closed while a duplicate lived on is still named, by a number that another file may have by now.
pub(crate) fn watch_of(text: &str, fd: RawFd, inode: u64) -> Option<Watch> {
    let is_it = |line: &&str| {
        field(line, "tfd:").is_some_and(|number| number.parse() == Ok(fd))
            && field(line, "ino:").is_none_or(|hex| u64::from_str_radix(hex, 16) == Ok(inode))
    };
    let line = text.lines().find(is_it)?;
    let flags = u32::from_str_radix(field(line, "events:")?, 16).ok()?;
    let data = u64::from_str_radix(field(line, "data:")?, 16).ok()?;
    Some(Watch { flags: EventFlags::from_bits_retain(flags), data })
}

/// For how many descriptors there is room at the moment, by `text`, the status of a process.
pub(crate) fn table_size(text: &str) -> Option<u32> {
    field(text.lines().find(|line| line.starts_with("FDSize:"))?, "FDSize:")?.parse().ok()
}

/// Whether a thread is on its way out, by `text`, its status in one line: `PF_EXITING` (linux/sched.h) among its flags.
pub(crate) fn is_exiting(text: &str) -> bool {
    const EXITING: u64 = 4;
    // The name, in brackets, may hold anything. Behind it the flags are the seventh.
    let flags =
        text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & EXITING != 0)
}

/// The word behind a name, with or without a space between.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(name)?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of fdinfo as Linux 6.18 writes it.
    const TEXT: &str = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\n\
        tfd:       20 events:       19 data:               14  pos:0 ino:421 sdev:f\n\
        tfd:       25 events: 80000018 data: 55d0000000000019  pos:0 ino:5d1 sdev:8\n\
        tfd:       25 events: 8000001d data:               19  pos:0 ino:5d2 sdev:8\n";

    #[test]
    fn the_line_of_the_descriptor_and_its_file_counts() {
        let watch = watch_of(TEXT, 25, 0x5d2).unwrap();
        assert_eq!(
            watch.flags,
            EventFlags::ET | EventFlags::IN | EventFlags::OUT | EventFlags::ERR | EventFlags::HUP
        );
        assert_eq!(watch.data, 0x19);
        assert_eq!(watch_of(TEXT, 25, 0x5d1).unwrap().data, 0x55d0_0000_0000_0019);
        assert_eq!(watch_of(TEXT, 20, 0x5d1), None);
        assert_eq!(watch_of(TEXT, 2, 0x421), None);
        assert_eq!(watch_of("pos:\t0\n", 25, 0x5d2), None);
    }

    #[test]
    fn a_thread_on_its_way_out_is_told() {
        let line = |flags| format!("77 (a) b) Z 1 77 1 34816 77 {flags} 0 0 0");
        assert!(is_exiting(&line("4194372")));
        assert!(!is_exiting(&line("4194304")) && !is_exiting("77 (a"));
    }

    #[test]
    fn the_room_for_descriptors_is_read() {
        assert_eq!(table_size("Name:\tcat\nNgid:\t0\nFDSize:\t256\nGroups:\t0\n"), Some(256));
        assert_eq!(table_size("Name:\tFDSize: 7\n"), None);
    }
}
