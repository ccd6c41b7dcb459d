//! A file that a server writes while it serves, and that is read meanwhile.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// The first `bytes` of a file that a server writes while it serves, which is not trusted; `None` where there is none.
pub(crate) fn read_shared(path: &Path, bytes: usize) -> Option<Vec<u8>> {
    // Not waiting for anybody, should it be a pipe (open(2)).
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let mut read = Vec::new();
    file.take(bytes as u64).read_to_end(&mut read).ok()?;
    Some(read)
}
