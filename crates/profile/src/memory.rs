//! The memory of another process, read while it runs: what is there may change between two reads, and may be anything.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Most bytes that are read at once: the pointers of as many threads as the kernel allows one process by default.
const MAX_BYTES: usize = 1 << 18;
/// Bytes of a word.
const WORD: usize = 8;

/// The memory of a process.
#[derive(Debug)]
pub(crate) struct Memory(File);

impl Memory {
    /// Opens the memory of a process (proc_pid_mem(5)).
    ///
    /// # Errors
    /// Where it has ended, or this user may not look at it (ptrace(2), "Ptrace access mode checking").
    pub(crate) fn of(pid: u32) -> std::io::Result<Self> {
        File::open(format!("/proc/{pid}/mem")).map(Self)
    }

    /// Bytes at an address; `None` where there is no memory, or more is asked for than is ever needed.
    pub(crate) fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        if length > MAX_BYTES {
            return None;
        }
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// Words at an address.
    pub(crate) fn words<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        let bytes = self.bytes(address, N * WORD)?;
        let mut words = [0; N];
        words.iter_mut().zip(words_of(&bytes)).for_each(|(word, read)| *word = read);
        Some(words)
    }

    /// The word at an address.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        self.words(address).map(|[word]| word)
    }

    /// The 32 bits at an address.
    pub(crate) fn half(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; WORD / 2];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(u32::from_ne_bytes(bytes))
    }

    /// The byte at an address.
    pub(crate) fn byte(&self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.0.read_exact_at(&mut byte, address).ok()?;
        Some(byte[0])
    }
}

/// The whole words that some bytes are.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<WORD>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_where_there_is_some() {
        let known: [u64; 3] = std::hint::black_box([7, 8, 0x0102_0304_0506_0708]);
        let memory = Memory::of(std::process::id()).expect("one's own");
        let at = (&raw const known) as u64;
        assert_eq!(memory.words(at), Some(known));
        assert_eq!((memory.word(at + 8), memory.half(at + 8), memory.byte(at)), (Some(8), Some(8), Some(7)));
        assert_eq!(words_of(&memory.bytes(at, 20).expect("there")).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(
            (memory.word(0), memory.word(u64::MAX), memory.bytes(at, MAX_BYTES + 1)),
            (None, None, None)
        );
    }

    #[test]
    fn a_process_that_has_ended_has_none() {
        let mut gone = std::process::Command::new("true").spawn().expect("a process");
        let memory = Memory::of(gone.id());
        gone.wait().expect("ended");
        assert_eq!(memory.ok().and_then(|memory| memory.word(0x1000)), None);
        assert!(Memory::of(gone.id()).is_err());
    }
}
