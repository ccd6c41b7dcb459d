//! Logs of bounded size: writing one from a pipe, and reading the last lines of one.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes at the end of a log that are looked at for its last lines.
const TAIL_BYTES: u64 = 16 << 10;
/// Longest line that is shown.
const LINE_CHARS: usize = 400;

/// Copies `from` to `log` until the end of input; of more than `limit` bytes the rest is read and thrown away, so that a
/// talkative program never blocks on a full pipe and never fills the disk.
pub(crate) fn pump(mut from: impl Read, mut log: impl Write, limit: u64) {
    let mut left = limit;
    let mut is_cut = false;
    let mut buffer = [0; 16 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let kept = usize::try_from(left).map_or(read, |left| left.min(read));
        // A full disk must not stop the reading.
        let _ = log.write_all(&buffer[..kept]);
        left -= kept as u64;
        if kept < read && !is_cut {
            is_cut = true;
            let _ = write!(log, "\n[assay: the log ends here, at its limit of {limit} bytes]\n");
        }
    }
}

/// The last `lines` lines of a log that are not empty; none when it cannot be read.
pub fn tail(path: &Path, lines: usize) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    last_lines(&String::from_utf8_lossy(&read().unwrap_or_default()), lines)
}

fn last_lines(text: &str, lines: usize) -> Vec<String> {
    let clean = |line: &str| -> String {
        line.trim_end().chars().filter(|c| !c.is_control() || *c == '\t').take(LINE_CHARS).collect()
    };
    let all: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    all[all.len().saturating_sub(lines)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_at_its_limit_and_says_so() {
        let mut log = Vec::new();
        pump(&b"0123456789"[..], &mut log, 10);
        assert_eq!(log, b"0123456789");
        log.clear();
        pump(&[b'x'; 100_000][..], &mut log, 4);
        assert!(log.starts_with(b"xxxx\n[assay: the log ends here"), "{}", String::from_utf8_lossy(&log));
        assert!(log.len() < 100);
        // A limit that is reached at the very end of a read is passed by the next one.
        log.clear();
        pump(&[b'x'; 100_000][..], &mut log, 32 << 10);
        let note = &log[32 << 10..];
        assert!(note.starts_with(b"\n[assay: the log ends here") && note.len() < 100, "{}", note.len());
    }

    #[test]
    fn the_tail_has_the_last_lines_without_control_characters() {
        assert_eq!(last_lines("a\n\nb\r\n\u{1b}[31mc\n", 2), ["b", "[31mc"]);
        assert_eq!(last_lines("", 2), Vec::<String>::new());
        assert_eq!(tail(Path::new("/does/not/exist"), 3), Vec::<String>::new());
    }
}
