//! Folders that somebody is at work in say so by a lock (flock(2)). It ends with the process, however that ends, and is seen from other
//! containers and namespaces as well, where the process itself is not.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

/// Says that somebody is at work in a folder, which is no link, until the file is closed.
///
/// # Errors
/// As the system tells, and when somebody is about to remove it.
pub(crate) fn hold(folder: &Path) -> std::io::Result<File> {
    lock(folder, FlockOperation::NonBlockingLockShared)
}

/// Whether nobody is at work in a folder.
pub(crate) fn is_free(folder: &Path) -> bool {
    lock(folder, FlockOperation::NonBlockingLockExclusive).is_ok()
}

fn lock(folder: &Path, how: FlockOperation) -> std::io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(folder)?;
    flock(&file, how)?;
    Ok(file)
}
