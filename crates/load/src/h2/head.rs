//! The head of an answer: its fields checked (RFC 9113 §8.2, §8.3.2), and the few that matter kept.

use assay_h2::Connection;
use assay_h2::field::{is_name, is_of_connection, is_value};
use assay_http::decimal;
use assay_model::load::ErrorClass;

use super::call::Call;
use crate::judge::Judge;

/// Blocks remembered per connection: an answer's head mostly equals the one before.
const MAX_MEMORIES: usize = 4;

/// What remains of a head once it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CheckedHead {
    pub(super) status: u16,
    /// What is wrong with it.
    pub(super) fault: Option<ErrorClass>,
    /// The length of body that it promises.
    pub(super) length: Option<u64>,
}

/// Heads that were read before on a connection.
#[derive(Default)]
pub(super) struct Memory(Vec<Known>);

struct Known {
    kind: u32,
    /// Of the decoder's table: only with the same one do equal bytes mean the same.
    version: u64,
    block: Box<[u8]>,
    facts: CheckedHead,
}

/// What is wrong with an answer that is none: of its head, or of the frames behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedAnswer(pub(super) &'static str);

impl Memory {
    /// Reads the head of an answer to a request of this kind.
    ///
    /// # Errors
    /// The outer one ends the connection, the inner one this stream.
    #[inline]
    pub(super) fn read(
        &mut self,
        connection: &mut Connection,
        kind: u32,
        block: &[u8],
        judge: &Judge,
        mut call: Option<&mut Call>,
    ) -> Result<Result<CheckedHead, MalformedAnswer>, assay_h2::ConnectionError> {
        let version = connection.table_version();
        let is_same = |k: &&Known| k.kind == kind && k.version == version && *k.block == *block;
        if let Some(known) = self.0.iter().find(is_same) {
            call.iter_mut().for_each(|call| call.recall());
            return Ok(Ok(known.facts));
        }
        let facts = read(connection, block, judge, call.as_deref_mut())?;
        if let Ok(facts) = facts
            && facts.fault.is_none()
            && call.is_none_or(|call| call.is_usual())
            && connection.table_version() == version
        {
            self.learn(Known { kind, version, block: block.into(), facts });
        }
        Ok(facts)
    }

    fn learn(&mut self, known: Known) {
        if self.0.len() == MAX_MEMORIES {
            self.0.remove(0);
        }
        self.0.push(known);
    }
}

fn read(
    connection: &mut Connection,
    block: &[u8],
    judge: &Judge,
    mut call: Option<&mut Call>,
) -> Result<Result<CheckedHead, MalformedAnswer>, assay_h2::ConnectionError> {
    let mut head = Head::default();
    let fits = connection.decode(block, |name, value| {
        head.note(name, value);
        call.iter_mut().for_each(|call| call.note(name, value));
    })?;
    Ok(head.settle(fits, judge))
}

/// Reads trailers. Nothing in them matters but that they are some, and to a call how it ended.
///
/// # Errors
/// The outer one ends the connection, the inner one this stream.
pub(super) fn read_trailers(
    connection: &mut Connection,
    block: &[u8],
    mut call: Option<&mut Call>,
) -> Result<Result<(), MalformedAnswer>, assay_h2::ConnectionError> {
    let mut fault = None;
    connection.decode(block, |name, value| {
        fault = fault.or_else(|| fault_of(name, value));
        call.iter_mut().for_each(|call| call.note(name, value));
    })?;
    Ok(fault.map_or(Ok(()), Err))
}

#[derive(Default)]
struct Head {
    status: Option<u16>,
    has_fields: bool,
    content_type: Vec<u8>,
    content_encoding: Vec<u8>,
    length: Option<u64>,
    fault: Option<MalformedAnswer>,
}

impl Head {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        if let Err(fault) = self.take(name, value) {
            self.fault.get_or_insert(fault);
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedAnswer> {
        if name == b":status" {
            let digits = <[u8; 3]>::try_from(value).ok().filter(|value| value.iter().all(u8::is_ascii_digit));
            let [a, b, c] = digits.ok_or(MalformedAnswer("a :status of other than three digits"))?;
            let status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
            return match self.status.replace(status) {
                None if !self.has_fields => Ok(()),
                _ => Err(MalformedAnswer("a :status that comes twice, or behind other fields")),
            };
        }
        self.has_fields = true;
        if let Some(fault) = fault_of(name, value) {
            return Err(fault);
        }
        match name {
            b"content-type" => self.content_type = value.to_vec(),
            b"content-encoding" => self.content_encoding = value.to_vec(),
            b"content-length" => {
                let length = decimal(value).ok_or(MalformedAnswer("a content-length that is no number"))?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(MalformedAnswer("two content-lengths that differ"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn settle(self, fits: bool, judge: &Judge) -> Result<CheckedHead, MalformedAnswer> {
        if !fits {
            return Err(MalformedAnswer("a head longer than 64 KiB"));
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let status = self.status.ok_or(MalformedAnswer("a head without :status"))?;
        let is_interim = (100..200).contains(&status);
        let fault = if is_interim {
            None
        } else {
            judge.fault_of(status, &self.content_type, &self.content_encoding)
        };
        Ok(CheckedHead { status, fault, length: self.length })
    }
}

/// What is wrong with a field of an answer (RFC 9113 §8.2, §8.3).
fn fault_of(name: &[u8], value: &[u8]) -> Option<MalformedAnswer> {
    match name {
        _ if is_of_connection(name) => {
            Some(MalformedAnswer("a field that belongs to a connection of HTTP/1.1"))
        }
        [] => Some(MalformedAnswer("a field without a name")),
        [b':', ..] => Some(MalformedAnswer("a pseudo-field that no answer has")),
        _ if !is_name(name) => {
            Some(MalformedAnswer("a field's name with a capital letter, or a character that no name has"))
        }
        _ if !is_value(value) => {
            Some(MalformedAnswer("a field's value with a space at an end, or a character that no value has"))
        }
        _ => None,
    }
}
