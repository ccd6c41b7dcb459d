//! The body of a call, one way: a single message in its frame.

use thiserror::Error;

use crate::message::PREFIX_BYTES;

/// Reads the message of a call as it comes.
#[derive(Clone, Debug)]
pub struct Reader {
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the prefix that have come.
    have: u8,
    /// Whether the message has come to its end.
    is_whole: bool,
    /// Bytes of the message that are still to come.
    left: u32,
    most: u32,
}

/// How far reading got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'i> {
    /// Bytes of the input that are dealt with, which is all of them where nothing more is to be told.
    pub consumed: usize,
    /// A part of the message.
    pub part: &'i [u8],
    /// Whether the message ends with it.
    pub is_last: bool,
}

/// What is wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The message is compressed.
    #[error("a compressed message, though no coding was agreed on")]
    Compressed,
    /// A flag that means nothing.
    #[error("a message begins with flag {0}, which means nothing")]
    Flag(u8),
    /// The message is longer than is taken.
    #[error("a message of {length} bytes, of which {most} are taken")]
    TooLong {
        /// Length of the message.
        length: u32,
        /// What is taken.
        most: u32,
    },
    /// There is none.
    #[error("no message")]
    Missing,
    /// The body ends in the middle of its message, or of the frame.
    #[error("the body ends {0} bytes before its message does")]
    Short(u32),
    /// There is more than one.
    #[error("bytes behind the only message")]
    Behind,
}

impl Reader {
    /// A reader of a message of `most` bytes at most.
    pub fn new(most: u32) -> Self {
        Self { prefix: [0; PREFIX_BYTES], have: 0, is_whole: false, left: 0, most }
    }

    /// Begins with another body.
    #[inline]
    pub fn begin_anew(&mut self) {
        *self = Self::new(self.most);
    }

    /// Reads on; `input` is what has come since.
    ///
    /// # Errors
    /// The body is none of a call with a single message.
    #[inline]
    pub fn next<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, Fault> {
        if self.is_whole {
            let nothing = Step { consumed: 0, part: &[], is_last: false };
            return if input.is_empty() { Ok(nothing) } else { Err(Fault::Behind) };
        }
        let taken = self.take_prefix(input)?;
        if usize::from(self.have) < PREFIX_BYTES {
            return Ok(Step { consumed: taken, part: &[], is_last: false });
        }
        let rest = &input[taken..];
        let part = &rest[..rest.len().min(self.left as usize)];
        // No longer than what is left, which fits 32 bits.
        self.left -= part.len() as u32;
        self.is_whole = self.left == 0;
        Ok(Step { consumed: taken + part.len(), part, is_last: self.is_whole })
    }

    /// Bytes of the frame at the start of `input`.
    #[inline]
    fn take_prefix(&mut self, input: &[u8]) -> Result<usize, Fault> {
        let have = usize::from(self.have);
        let n = input.len().min(PREFIX_BYTES - have);
        self.prefix[have..have + n].copy_from_slice(&input[..n]);
        // No more than PREFIX_BYTES.
        self.have += n as u8;
        if n > 0 && have + n == PREFIX_BYTES {
            self.read_prefix()?;
        }
        Ok(n)
    }

    fn read_prefix(&mut self) -> Result<(), Fault> {
        let [flag, a, b, c, d] = self.prefix;
        self.left = u32::from_be_bytes([a, b, c, d]);
        match flag {
            0 if self.left > self.most => Err(Fault::TooLong { length: self.left, most: self.most }),
            0 => Ok(()),
            1 => Err(Fault::Compressed),
            other => Err(Fault::Flag(other)),
        }
    }

    /// The body has ended.
    ///
    /// # Errors
    /// Its message has not.
    pub fn finish(&self) -> Result<(), Fault> {
        match (self.is_whole, usize::from(self.have)) {
            (true, _) => Ok(()),
            (false, 0) => Err(Fault::Missing),
            (false, PREFIX_BYTES) => Err(Fault::Short(self.left)),
            (false, have) => Err(Fault::Short((PREFIX_BYTES - have) as u32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::frame;
    use proptest::prelude::*;

    /// The message in `parts`, and what ended it.
    fn read(parts: &[&[u8]]) -> (Vec<u8>, Result<(), Fault>) {
        let (mut reader, mut message, mut ends) = (Reader::new(1000), Vec::new(), 0);
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                match reader.next(rest) {
                    Ok(step) => {
                        message.extend_from_slice(step.part);
                        ends += usize::from(step.is_last);
                        rest = &rest[step.consumed..];
                    }
                    Err(fault) => return (message, Err(fault)),
                }
            }
        }
        let end = reader.finish();
        assert_eq!(ends, usize::from(end.is_ok()));
        (message, end)
    }

    #[test]
    fn each_fault_has_its_name() {
        for (bytes, fault) in [
            (&b""[..], Fault::Missing),
            (b"\0\0", Fault::Short(3)),
            (b"\0\0\0\0\x05abc", Fault::Short(2)),
            (b"\x01\0\0\0\x01a", Fault::Compressed),
            (b"\x02\0\0\0\x01a", Fault::Flag(2)),
            (b"\0\0\0\x03\xe9", Fault::TooLong { length: 1001, most: 1000 }),
            (b"\0\0\0\0\x01aa", Fault::Behind),
            (b"\0\0\0\0\0\0\0\0\0\0", Fault::Behind),
        ] {
            assert_eq!(read(&[bytes]).1, Err(fault), "{bytes:?}");
        }
        assert_eq!(read(&[b"\0\0\0\0\0"]), (Vec::new(), Ok(())), "an empty message is one");
    }

    proptest! {
        #[test]
        fn a_message_is_the_same_wherever_it_is_cut(message: Vec<u8>, cuts in [0usize..64, 0..64]) {
            let mut framed = Vec::new();
            frame(&message, &mut framed);
            let (a, b) = (cuts[0].min(framed.len()), cuts[1].min(framed.len()));
            let (first, second) = (a.min(b), a.max(b));
            let parts = [&framed[..first], &framed[first..second], &framed[second..]];
            prop_assert_eq!(read(&parts), (message, Ok(())));
        }

        #[test]
        fn any_bytes_are_found_to_be_the_same_wherever_they_are_cut(bytes: Vec<u8>, cut in 0usize..64) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(read(&[first, second]).1, read(&[&bytes]).1);
        }
    }
}
