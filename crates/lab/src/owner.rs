//! To whom a file belongs.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// Whether it belongs to this user. Root hands the folders of databases over to whoever runs them, but keeps their group,
/// which nobody else could give them (chown(2)).
pub(crate) fn is_own(found: &Metadata) -> bool {
    is_own_of(rustix::process::getuid().as_raw(), found.uid(), found.gid())
}

fn is_own_of(me: u32, owner: u32, group: u32) -> bool {
    const ROOT: u32 = 0;
    owner == me || (me == ROOT && group == ROOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_left_is_theirs_also_for_root() {
        assert!(is_own_of(1000, 1000, 100) && is_own_of(0, 0, 0));
        assert!(is_own_of(0, 65_534, 0), "handed over by root");
        assert!(!is_own_of(0, 1000, 1000) && !is_own_of(1000, 0, 0) && !is_own_of(1000, 1001, 1000));
    }
}
