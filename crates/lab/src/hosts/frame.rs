//! Frames between a lab and an agent: a head of JSON with raw bytes behind it, without I/O.
//!
//! ```text
//! "asy" version | length of the head | length of the body | head | body
//!  3 bytes  1   |     4, big-endian  |     4, big-endian  |      |
//! ```
//!
//! Every frame begins with the mark, so that whatever else a host prints (a greeting, a message of its shell) is told from a frame
//! at its first byte, and both lengths are held against limits before memory is taken.

use thiserror::Error;

/// The version of frames and of what is said in them; an agent of another one is not spoken to.
pub const VERSION: u8 = 2;
/// Longest head, in bytes.
pub const MAX_HEAD: usize = 1 << 20;
/// Longest body, in bytes; a longer file travels in several.
pub const MAX_BODY: usize = 1 << 20;

const MARK: [u8; 3] = *b"asy";
const PREFIX: usize = 12;
/// Most bytes of something else that are repeated to a person.
const SHOWN: usize = 60;

/// What is said, with bytes that belong to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The message, as JSON.
    pub head: Vec<u8>,
    /// Raw bytes.
    pub body: Vec<u8>,
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Something else was said.
    #[error("what answers there is no agent of assay: it says `{0}`")]
    Foreign(String),
    /// Another version.
    #[error("its agent speaks version {0} of assay's frames, and this is version {VERSION}")]
    Version(u8),
    /// A part beyond its limit.
    #[error("a frame has a {part} of {bytes} bytes, more than the {limit} that are allowed")]
    TooLong {
        /// Head or body.
        part: &'static str,
        /// The length that was announced.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

impl Frame {
    /// The bytes of the frame.
    ///
    /// # Errors
    /// [`FrameError::TooLong`].
    pub fn encode(&self) -> Result<Vec<u8>, FrameError> {
        let length = |part, bytes: &[u8], limit| {
            let fits = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= limit);
            fits.ok_or(FrameError::TooLong { part, bytes: bytes.len(), limit })
        };
        let head = length("head", &self.head, MAX_HEAD)?;
        let body = length("body", &self.body, MAX_BODY)?;
        let mut out = Vec::with_capacity(PREFIX + self.head.len() + self.body.len());
        out.extend(MARK);
        out.push(VERSION);
        out.extend(head.to_be_bytes());
        out.extend(body.to_be_bytes());
        out.extend(&self.head);
        out.extend(&self.body);
        Ok(out)
    }
}

/// Makes frames of bytes as they come.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
}

impl Decoder {
    /// Takes bytes that have come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, once it has come.
    ///
    /// # Errors
    /// [`FrameError`]; nothing that follows can be understood either.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let marked = self.bytes.len().min(MARK.len());
        if self.bytes[..marked] != MARK[..marked] {
            return Err(FrameError::Foreign(shown(&self.bytes)));
        }
        if let Some(&version) = self.bytes.get(MARK.len()).filter(|version| **version != VERSION) {
            return Err(FrameError::Version(version));
        }
        let Some(prefix) = self.bytes.first_chunk::<PREFIX>() else { return Ok(None) };
        let head = length("head", [prefix[4], prefix[5], prefix[6], prefix[7]], MAX_HEAD)?;
        let body = length("body", [prefix[8], prefix[9], prefix[10], prefix[11]], MAX_BODY)?;
        let end = PREFIX + head + body;
        if self.bytes.len() < end {
            return Ok(None);
        }
        let rest = self.bytes.split_off(end);
        let mut head_and_body = std::mem::replace(&mut self.bytes, rest).split_off(PREFIX);
        let body = head_and_body.split_off(head);
        Ok(Some(Frame { head: head_and_body, body }))
    }
}

fn length(part: &'static str, bytes: [u8; 4], limit: usize) -> Result<usize, FrameError> {
    let length = usize::try_from(u32::from_be_bytes(bytes)).unwrap_or(usize::MAX);
    if length > limit { Err(FrameError::TooLong { part, bytes: length, limit }) } else { Ok(length) }
}

/// The first line of something else, as far as it can be read.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn all(decoder: &mut Decoder) -> Vec<Frame> {
        std::iter::from_fn(|| decoder.next_frame().expect("frames")).collect()
    }

    fn frames() -> impl Strategy<Value = Vec<Frame>> {
        let bytes = || vec(any::<u8>(), 0..200);
        vec((bytes(), bytes()).prop_map(|(head, body)| Frame { head, body }), 0..6)
    }

    proptest! {
        #[test]
        fn frames_arrive_however_they_are_cut(frames in frames(), cuts in vec(1_usize..50, 1..40)) {
            let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.encode().expect("short")).collect();
            let (mut decoder, mut found, mut rest) = (Decoder::default(), Vec::new(), &bytes[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                decoder.feed(now);
                found.extend(all(&mut decoder));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, frames);
            prop_assert!(decoder.bytes.is_empty(), "a frame has begun and is not whole");
        }

        #[test]
        fn nothing_makes_it_panic_or_take_memory(bytes in vec(any::<u8>(), 0..400)) {
            let mut decoder = Decoder::default();
            decoder.feed(&bytes);
            while let Ok(Some(_)) = decoder.next_frame() {}
            prop_assert!(decoder.bytes.len() <= bytes.len());
        }
    }

    #[test]
    fn what_is_no_frame_is_told_at_once() {
        let refused = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.feed(bytes);
            decoder.next_frame().map_err(|error| error.to_string())
        };
        let error = refused(b"\nWelcome to \x1b[1mbox1\r\nmore").expect_err("a greeting");
        assert!(error.ends_with("it says `Welcome to [1mbox1`"), "{error}");
        assert_eq!(refused(b"as"), Ok(None));
        assert_eq!(refused(b"ax").expect_err("no mark"), FrameError::Foreign("ax".to_owned()).to_string());
        assert_eq!(refused(b"asy\x01").expect_err("version"), FrameError::Version(1).to_string());
        let long = refused(b"asy\x02\xff\xff\xff\xff\0\0\0\0").expect_err("long");
        assert!(long.contains("a head of 4294967295 bytes"), "{long}");
        let frame = Frame { head: Vec::new(), body: vec![0; MAX_BODY + 1] };
        assert!(matches!(frame.encode(), Err(FrameError::TooLong { part: "body", .. })));
    }
}
