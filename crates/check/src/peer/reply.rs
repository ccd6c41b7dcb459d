//! An answer, put together from its frames.

use super::heard::{Field, Heard};

/// Most that one answer may take in memory.
const ANSWER_MAX_BYTES: usize = 16 << 20;

/// The answer on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The final status; 0 before there is one.
    pub(crate) status: u16,
    /// The fields of its head.
    pub(crate) fields: Vec<Field>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<Vec<Field>>,
    /// Fields of interim answers.
    pub(crate) interim: Vec<Vec<Field>>,
    pub(crate) is_whole: bool,
    /// What it takes in memory.
    pub(super) bytes: usize,
}

impl Reply {
    /// Takes a frame of its stream.
    ///
    /// # Errors
    /// In words, when no answer has such a frame there.
    pub(super) fn take(&mut self, heard: Heard) -> Result<(), String> {
        if self.is_whole {
            return Err("more came behind the end of an answer".to_owned());
        }
        self.bytes += heard.bytes();
        if self.bytes > ANSWER_MAX_BYTES {
            return Err("an answer is longer than 16 MiB".to_owned());
        }
        match heard {
            Heard::Fields { end_stream, fields, .. } => {
                self.is_whole = end_stream;
                self.take_fields(fields)
            }
            Heard::Data { .. } if self.status == 0 => {
                Err("DATA came before the head of its answer".to_owned())
            }
            Heard::Data { end_stream, bytes, .. } => {
                self.is_whole = end_stream;
                self.body.extend_from_slice(&bytes);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_fields(&mut self, fields: Vec<Field>) -> Result<(), String> {
        if self.status != 0 {
            self.trailers = Some(fields);
            return if self.is_whole { Ok(()) } else { Err("trailers do not end the stream".to_owned()) };
        }
        let status = fields.iter().find(|(name, _)| name == b":status").map(|(_, value)| value.as_slice());
        let status = status.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
        match status {
            Some(100..=199) if self.is_whole => Err("an interim answer ends the stream".to_owned()),
            Some(100..=199) => {
                self.interim.push(fields);
                Ok(())
            }
            Some(status @ 200..=999) => {
                (self.status, self.fields) = (status, fields);
                Ok(())
            }
            _ => Err("an answer has no :status of three digits".to_owned()),
        }
    }

    /// The value of a field of the head.
    pub(crate) fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, value)| value.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(status: &str, end_stream: bool) -> Heard {
        let fields = vec![(b":status".to_vec(), status.as_bytes().to_vec())];
        Heard::Fields { stream: 1, end_stream, fields, block: Vec::new() }
    }

    fn data(end_stream: bool) -> Heard {
        Heard::Data { stream: 1, end_stream, bytes: b"hi".to_vec() }
    }

    #[test]
    fn an_answer_is_put_together() {
        let mut reply = Reply::default();
        for heard in [fields("103", false), fields("200", false), data(false), data(true)] {
            reply.take(heard).unwrap();
        }
        assert_eq!((reply.status, reply.body.as_slice(), reply.interim.len()), (200, &b"hihi"[..], 1));
        assert!(reply.is_whole && reply.take(data(true)).is_err());
    }

    #[test]
    fn an_answer_without_end_is_told() {
        let mut reply = Reply::default();
        reply.take(fields("200", false)).unwrap();
        let more = Heard::Data { stream: 1, end_stream: false, bytes: vec![0; 1 << 20] };
        assert!((0..15).all(|_| reply.take(more.clone()).is_ok()));
        assert!((0..2).any(|_| reply.take(more.clone()).is_err()));
        let mut reply = Reply::default();
        assert!((0..ANSWER_MAX_BYTES / 50).any(|_| reply.take(fields("103", false)).is_err()));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        assert!(Reply::default().take(data(true)).is_err());
        assert!(Reply::default().take(fields("100", true)).is_err());
        assert!(Reply::default().take(fields("ok", true)).is_err());
        let mut reply = Reply::default();
        reply.take(fields("200", false)).unwrap();
        assert!(reply.take(fields("200", false)).is_err());
    }
}
