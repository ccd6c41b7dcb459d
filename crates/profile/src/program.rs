//! The program of a process, as the file that it was started from.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use procfs::process::Process;

/// Where a program stands in its file that is begun (`e_entry` in elf(5)), and what tells that of the process (getauxval(3)).
const ENTRY: u64 = 24;
const AT_ENTRY: u64 = 9;

/// Where the program of a process can be opened, wherever its file is now.
pub(crate) fn path(pid: u32) -> String {
    format!("/proc/{pid}/exe")
}

/// Opens the program of a process.
///
/// # Errors
/// Where the process has ended, or this user may not look at it.
pub(crate) fn open(pid: u32) -> std::io::Result<File> {
    File::open(path(pid))
}

/// What lies between addresses in the file of a program and in its process.
pub(crate) fn bias(pid: u32, file: &File) -> Option<u64> {
    let mut entry = [0; 8];
    file.read_exact_at(&mut entry, ENTRY).ok()?;
    let entered = *Process::new(pid.cast_signed()).ok()?.auxv().ok()?.get(&AT_ENTRY)?;
    Some(entered.wrapping_sub(u64::from_ne_bytes(entry)))
}
