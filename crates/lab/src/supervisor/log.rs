//! Logs of bounded size: writing one from a pipe, and reading the last lines of one, or the last words of a process that died.

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::last_words::last_words;
use crate::secrets::Secrets;

/// Bytes at the end of a log that are looked at for its last lines.
const TAIL_BYTES: u64 = 16 << 10;
/// Bytes at the end of a program's output that are kept of a log that is over its limit: a tenth of that, within these bounds.
const LEAST_LAST_BYTES: usize = 64;
const LAST_BYTES: usize = 16 << 10;
/// Longest line that is shown.
const LINE_CHARS: usize = 400;

/// Copies `from` to `log` until the end of input. Of more than `limit` bytes only the end follows, which tells why a program died: the
/// rest is read and thrown away, so that a talkative one never blocks on a full pipe and never fills the disk.
pub(crate) fn pump(mut from: impl Read, mut log: impl Write, limit: u64) {
    let mut left = limit;
    let mut last = LastBytes::beyond(limit);
    let mut buffer = [0; 16 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let (kept, over) = buffer[..read].split_at(usize::try_from(left).map_or(read, |left| left.min(read)));
        // A full disk must not stop the reading.
        let _ = log.write_all(kept);
        left -= kept.len() as u64;
        if !over.is_empty() && last.seen == 0 {
            let _ =
                write!(log, "\n[assay: the log ends here, at its limit of {limit} bytes; its end follows]\n");
        }
        last.see(over);
    }
    let _ = log.write_all(&last.whole_lines());
}

/// The end of what is too much for a log.
struct LastBytes {
    kept: VecDeque<u8>,
    /// Most that are kept.
    most: usize,
    /// The number of bytes so far.
    seen: u64,
}

impl LastBytes {
    /// Nothing yet of what is beyond a log's limit.
    fn beyond(limit: u64) -> Self {
        let most = usize::try_from(limit / 10).unwrap_or(LAST_BYTES).clamp(LEAST_LAST_BYTES, LAST_BYTES);
        Self { kept: VecDeque::new(), most, seen: 0 }
    }

    fn see(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        self.kept.extend(&bytes[bytes.len().saturating_sub(self.most)..]);
        self.kept.drain(..self.kept.len().saturating_sub(self.most));
    }

    /// What was kept, from the beginning of a line on where something before it was thrown away.
    fn whole_lines(mut self) -> Vec<u8> {
        if self.seen > self.kept.len() as u64 {
            let begun = self.kept.iter().position(|byte| *byte == b'\n').map_or(self.kept.len(), |at| at + 1);
            self.kept.drain(..begun);
        }
        self.kept.into()
    }
}

/// The last `lines` lines of a log that are not empty, without `secrets`; none when it cannot be read.
pub fn tail(path: &Path, lines: usize, secrets: &Secrets) -> Vec<String> {
    last_lines(&end_of(path), lines, secrets)
}

/// The last `lines` of the log of a program that died, without `secrets`: what it says went wrong is among them, and long
/// stacks are cut short. None when the log cannot be read.
pub(crate) fn tail_of_death(path: &Path, lines: usize, secrets: &Secrets) -> Vec<String> {
    said_in_the_end(&end_of(path), lines, secrets)
}

/// The lines of [`tail_of_death`], of a log that was read.
pub(crate) fn said_in_the_end(text: &str, lines: usize, secrets: &Secrets) -> Vec<String> {
    let words = last_words(&not_empty(text), lines);
    words.iter().map(|line| clean(line, secrets)).filter(|line| !line.is_empty()).collect()
}

/// The end of a log, from the beginning of a line on.
fn end_of(path: &Path) -> String {
    let read = || -> std::io::Result<(bool, Vec<u8>)> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok((length > TAIL_BYTES, bytes))
    };
    let (is_cut, bytes) = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // What a line begins with that began before may be the rest of a secret.
    if is_cut { text.split_once('\n').map_or("", |(_, rest)| rest).to_owned() } else { text.into_owned() }
}

fn last_lines(text: &str, lines: usize, secrets: &Secrets) -> Vec<String> {
    let all = not_empty(text);
    let last = all[all.len().saturating_sub(lines)..].iter().map(|line| clean(line, secrets));
    last.filter(|line| !line.is_empty()).collect()
}

fn not_empty(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim_end().is_empty()).collect()
}

/// A line as it may be shown. Secrets are looked for before a long one is cut, which might leave the beginning of one.
fn clean(line: &str, secrets: &Secrets) -> String {
    let printable: String = line.trim_end().chars().filter(|c| !c.is_control() || *c == '\t').collect();
    secrets.hide(&printable).chars().take(LINE_CHARS).collect()
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
        assert!(log.len() < 100, "of a line without an end only its beginning is there");
        // A limit that is reached at the very end of a read is passed by the next one.
        log.clear();
        pump(&[b'x'; 100_000][..], &mut log, 32 << 10);
        let note = &log[32 << 10..];
        assert!(note.starts_with(b"\n[assay: the log ends here") && note.len() < 100, "{}", note.len());
    }

    #[test]
    fn a_talkative_program_has_its_last_words() {
        let mut said = "GET /index.html\n".repeat(9_000).into_bytes();
        said.extend_from_slice(b"FATAL: cannot open /etc/app.key\n");
        let folder = tempfile::tempdir().expect("folder");
        let log = folder.path().join("log");
        pump(&said[..], std::fs::File::create(&log).expect("log"), 64 << 10);
        let told = tail_of_death(&log, 5, &Secrets::default());
        assert_eq!(told.last().map(String::as_str), Some("FATAL: cannot open /etc/app.key"), "{told:?}");
        let kept = std::fs::read(&log).expect("log");
        assert!(kept.len() < (64 << 10) + LAST_BYTES + 100, "{}", kept.len());
        // What is over the limit and short is there in full.
        let mut log = Vec::new();
        pump(&b"first\nsecond\nlast\n"[..], &mut log, 8);
        assert!(log.starts_with(b"first\nse\n[assay: ") && log.ends_with(b"]\ncond\nlast\n"), "{log:?}");
    }

    #[test]
    fn the_tail_has_the_last_lines_without_control_characters() {
        let none = Secrets::default();
        assert_eq!(last_lines("a\n\nb\r\n\u{1b}[31mc\n", 2, &none), ["b", "[31mc"]);
        assert_eq!(last_lines("", 2, &none), Vec::<String>::new());
        assert_eq!(tail(Path::new("/does/not/exist"), 3, &none), Vec::<String>::new());
    }

    #[test]
    fn the_tail_has_no_secret_not_even_a_part_of_one_where_it_is_cut() {
        let secrets = Secrets::of([("API_TOKEN".into(), "0123456789abcdef".into())]);
        let long = format!("{}0123456789abcdef tail", "x".repeat(LINE_CHARS - 4));
        assert_eq!(last_lines(&long, 1, &secrets), [format!("{}[hid", "x".repeat(LINE_CHARS - 4))]);
        let folder = tempfile::tempdir().expect("folder");
        let log = folder.path().join("log");
        let rest = "y".repeat(TAIL_BYTES as usize - "abcdef\n\nz\n".len());
        std::fs::write(&log, format!("0123456789abcdef\n{rest}\nz\n")).expect("log");
        let told = tail(&log, 3, &secrets);
        assert!(told.len() == 2 && told[0].starts_with('y') && told[1] == "z", "{told:?}");
    }
}
