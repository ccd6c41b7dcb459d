//! Files that were asked for a moment ago, so that a popular one is not looked up, opened and read for every request.
//!
//! A file that was replaced or changed may be served as it was for [`TRUSTED`] at most, as with nginx's `open_file_cache`
//! (which trusts for a minute by default) or any cache with a `max-age`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use assay_model::units::Nanos;

use crate::coding::Accepted;
use crate::content::Content;
use crate::files::{Folder, Lookup};
use crate::session::Wanted;
use crate::validators::Found;

/// How long a file is served without being looked up again.
pub(crate) const TRUSTED: Nanos = Nanos::from_millis(200);
/// Files held open at most, on each thread.
const FILES: usize = 256;
/// A longer target is looked up every time.
const TARGET_BYTES: usize = 256;

/// The files of a folder by the requests that name them.
pub(crate) struct OpenFiles {
    folder: Folder,
    /// By what [`write_key`] makes of a request.
    by_request: HashMap<Box<[u8]>, Entry>,
    /// The key of the request at hand.
    key: Vec<u8>,
}

struct Entry {
    content: Content,
    found: Found,
    trusted_until: Nanos,
}

impl OpenFiles {
    pub(crate) fn new(folder: Folder) -> Self {
        Self { folder, by_request: HashMap::new(), key: Vec::new() }
    }

    /// The file that a request target names, as [`Folder::find`] finds it, or found it at most [`TRUSTED`] ago.
    ///
    /// # Errors
    /// Those of [`Folder::find`], and a short file that cannot be read.
    pub(crate) fn find(
        &mut self,
        target: &[u8],
        accepted: Accepted,
        now: Nanos,
    ) -> io::Result<Lookup<(Content, Found)>> {
        write_key(target, accepted, &mut self.key);
        if let Some(entry) = self.by_request.get(&*self.key).filter(|entry| now < entry.trusted_until) {
            return Ok(Lookup::File((entry.content.clone(), entry.found.clone())));
        }
        let (file, found) = match self.folder.find(target, accepted)? {
            Lookup::File(file) => file,
            other => {
                self.by_request.remove(&*self.key);
                return Ok(other.map(|(file, found)| (Content::Open(Arc::new(file)), found)));
            }
        };
        let content = Content::of(file, found.len)?;
        if target.len() <= TARGET_BYTES && self.has_room(now) {
            let entry =
                Entry { content: content.clone(), found: found.clone(), trusted_until: now + TRUSTED };
            self.by_request.insert(self.key.as_slice().into(), entry);
        }
        Ok(Lookup::File((content, found)))
    }

    /// Finds a file for a connection, which keeps the bytes for the pieces to come. Without files there is none.
    pub(crate) fn find_for(
        files: Option<&mut Self>,
        kept: &mut Option<Content>,
        wanted: &Wanted<'_>,
        now: Nanos,
    ) -> io::Result<Lookup<Found>> {
        *kept = None;
        let Some(files) = files else { return Ok(Lookup::Absent) };
        let lookup = files.find(wanted.target, wanted.accepted, now)?;
        Ok(lookup.map(|(content, found)| {
            *kept = Some(content);
            found
        }))
    }

    /// Lets go of the files that nobody asked for lately: a file deleted meanwhile gives its space back.
    pub(crate) fn forget_stale(&mut self, now: Nanos) {
        self.by_request.retain(|_, entry| now < entry.trusted_until);
    }

    /// Whether the file at hand may be kept.
    fn has_room(&mut self, now: Nanos) -> bool {
        if self.by_request.len() >= FILES && !self.by_request.contains_key(&*self.key) {
            self.forget_stale(now);
        }
        self.by_request.len() < FILES || self.by_request.contains_key(&*self.key)
    }
}

/// A request as far as it decides which file answers it: the codings it takes, in their order, and its target.
fn write_key(target: &[u8], accepted: Accepted, key: &mut Vec<u8>) {
    key.clear();
    key.extend(accepted.best_first().map(|coding| coding as u8));
    // No target begins with a byte that stands for a coding.
    key.extend_from_slice(target);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::SHORT_BYTES;

    fn text(content: &Content) -> &str {
        match content {
            Content::Memory(bytes) => std::str::from_utf8(bytes).unwrap(),
            Content::Open(_) => "long",
        }
    }

    fn anything() -> Accepted {
        Accepted::of(std::iter::empty())
    }

    #[test]
    fn what_one_client_takes_is_not_given_to_another() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "plain").unwrap();
        std::fs::write(root.path().join("a.gz"), "gzipped").unwrap();
        let mut files = OpenFiles::new(Folder::open(root.path(), false).unwrap());
        for _ in 0..2 {
            for (accepts, expected) in [("", "plain"), ("gzip", "gzipped"), ("br", "plain")] {
                let accepted = Accepted::of(Some(accepts.as_bytes()).into_iter());
                let Lookup::File((content, _)) = files.find(b"/a", accepted, Nanos::ZERO).unwrap() else {
                    panic!("{accepts}")
                };
                assert_eq!(text(&content), expected, "{accepts}");
            }
        }
    }

    #[test]
    fn a_change_is_seen_when_the_trust_is_over() {
        let root = tempfile::tempdir().unwrap();
        let mut files = OpenFiles::new(Folder::open(root.path(), false).unwrap());
        let mut find = |now: u64| match files.find(b"/a", anything(), Nanos(now)).unwrap() {
            Lookup::File((content, found)) => Some((text(&content).to_owned(), found.len)),
            _ => None,
        };
        assert_eq!(find(0), None, "what is missing is looked for every time");
        std::fs::write(root.path().join("a"), "first").unwrap();
        assert_eq!(find(0), Some(("first".into(), 5)));
        std::fs::write(root.path().join("a"), "second").unwrap();
        assert_eq!(find(TRUSTED.0 - 1), Some(("first".into(), 5)), "bytes and length of one moment");
        assert_eq!(find(TRUSTED.0), Some(("second".into(), 6)));
        std::fs::write(root.path().join("a"), vec![b'x'; SHORT_BYTES as usize + 1]).unwrap();
        assert_eq!(find(2 * TRUSTED.0), Some(("long".into(), SHORT_BYTES + 1)));
        std::fs::remove_file(root.path().join("a")).unwrap();
        assert_eq!(find(3 * TRUSTED.0), None);
    }

    #[test]
    fn no_more_files_are_held_than_allowed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "a").unwrap();
        let mut files = OpenFiles::new(Folder::open(root.path(), false).unwrap());
        for i in 0..2 * FILES {
            let target = format!("/a?{i}");
            let lookup = files.find(target.as_bytes(), anything(), Nanos::ZERO).unwrap();
            assert!(matches!(lookup, Lookup::File(_)));
        }
        assert_eq!(files.by_request.len(), FILES);
        assert!(matches!(files.find(b"/a", anything(), TRUSTED).unwrap(), Lookup::File(_)));
        assert_eq!(files.by_request.len(), 1, "the stale ones make room");
    }
}
