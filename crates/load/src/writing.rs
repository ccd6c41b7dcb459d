//! How the text of a body becomes the bytes that are sent, or expected.

use assay_model::message;
use assay_model::template::{Draw, Numbers, Template, TextPart};

/// How the text of a body becomes bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    /// The text as it stands.
    #[default]
    Plain,
    /// The message of Protocol Buffers that the text stands for.
    Message,
}

impl Writing {
    /// Appends what a text says in this request. One that stood for a message in the first request does so in the others: a number
    /// makes it no other, but for one behind a backslash or beyond 64 bits, and then the server is asked something else.
    #[inline]
    pub(crate) fn write(self, template: &Template, numbers: &Numbers, draw: Draw, out: &mut Vec<u8>) {
        match self {
            Self::Plain => template.write(numbers, draw, &mut TextPart::new(0, usize::MAX, out)),
            Self::Message => drop(message::encode(&template.text(numbers, draw), out)),
        }
    }
}
