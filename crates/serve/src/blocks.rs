//! Heads of answers as compressed blocks: of those that are known in advance once for each second of the date.

use assay_h2::hpack::write_field;
use assay_http::{Limits, ResponseHead, Scan, scan_response};

use crate::answer::{Answer, Answers};
use crate::connection::Persistence;

/// Fields that belong to a connection of HTTP/1.1 and must not be sent (RFC 9113 §8.2.2).
const LEFT_OUT: [&[u8]; 3] = [b"connection", b"transfer-encoding", b"upgrade"];

/// The answers that are known in advance.
#[derive(Default)]
pub(crate) struct Blocks(Vec<Option<Block>>);

/// An answer as HTTP/2 sends it.
#[derive(Clone)]
pub(crate) struct Block {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Block {
    /// Of an answer that was rendered for HTTP/1.1.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut head = Vec::new();
        let told = write_head(text, &mut head);
        let body = told.map_or_else(Vec::new, |told| text[told.len as usize..].to_vec());
        Self { head, body }
    }

    /// Compressed head and body of the block.
    #[inline]
    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        (&self.head, &self.body)
    }
}

impl Blocks {
    /// The date has changed, which all of them tell.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Head and body of an answer.
    #[inline]
    pub(crate) fn get(&mut self, answer: Answer, answers: &Answers) -> (&[u8], &[u8]) {
        let at = answer as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        let block = self.0[at].get_or_insert_with(|| {
            let mut text = Vec::new();
            answers.append(answer, false, Persistence::Assumed, &mut text);
            Block::of(&text)
        });
        block.parts()
    }
}

/// Appends the block of a head that was rendered for HTTP/1.1, and returns what it says.
pub(crate) fn write_head(text: &[u8], block: &mut Vec<u8>) -> Option<ResponseHead> {
    let Scan::Complete(head) = scan_response(text, &Limits::DEFAULT) else { return None };
    write_field(b":status", head.status.to_string().as_bytes(), block);
    for field in head.fields(text) {
        let name = field.name.to_ascii_lowercase();
        if !LEFT_OUT.contains(&&*name) {
            write_field(&name, field.value, block);
        }
    }
    Some(head)
}
