//! The fields of a message of Protocol Buffers, one after the other, without its schema
//! (protobuf.dev/programming-guides/encoding).

use thiserror::Error;

use crate::varint;

/// The highest number of a field.
const MOST_NUMBER: u64 = (1 << 29) - 1;

/// The type of a field whose length stands before its value.
const BYTES: u64 = 2;

/// The value of a field, as far as its bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'m> {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes: a double, or a fixed number.
    Fixed64(u64),
    /// Bytes, a text, or a message.
    Bytes(&'m [u8]),
    /// Four bytes: a float, or a fixed number.
    Fixed32(u32),
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no message of Protocol Buffers")]
pub struct Malformed;

/// Reads the fields of a message.
#[derive(Clone, Debug)]
pub struct Fields<'m>(&'m [u8]);

impl<'m> Fields<'m> {
    /// The fields of a message. Groups, which are no longer written, are not taken.
    pub fn of(message: &'m [u8]) -> Self {
        Self(message)
    }

    fn read(&mut self) -> Option<(u32, Value<'m>)> {
        let (tag, rest) = varint::read(self.0)?;
        let number = tag >> 3;
        if !(1..=MOST_NUMBER).contains(&number) {
            return None;
        }
        let (value, rest) = match tag & 7 {
            0 => varint::read(rest).map(|(value, rest)| (Value::Varint(value), rest))?,
            1 => rest.split_first_chunk().map(|(b, rest)| (Value::Fixed64(u64::from_le_bytes(*b)), rest))?,
            BYTES => {
                let (length, rest) = varint::read(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            5 => rest.split_first_chunk().map(|(b, rest)| (Value::Fixed32(u32::from_le_bytes(*b)), rest))?,
            _ => return None,
        };
        self.0 = rest;
        // At most MOST_NUMBER.
        Some((number as u32, value))
    }
}

impl<'m> Iterator for Fields<'m> {
    type Item = Result<(u32, Value<'m>), Malformed>;

    /// The next field; nothing follows one that is malformed.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read().ok_or(Malformed);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// The text of a field of a message: of several the last, of none the empty one.
///
/// # Errors
/// The bytes are no message, or the field is no text.
#[inline]
pub fn text(message: &[u8], number: u32) -> Result<&str, Malformed> {
    let mut found = "";
    for field in Fields::of(message) {
        match field? {
            (at, Value::Bytes(bytes)) if at == number => {
                found = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
            }
            // Protocol Buffers skip a field of another type than expected, as any that is not known.
            _ => {}
        }
    }
    Ok(found)
}

/// Appends a text field; an empty one is left out, as its default.
#[inline]
pub fn write_text(number: u32, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        varint::write((u64::from(number) << 3) | BYTES, out);
        varint::write(text.len() as u64, out);
        out.extend_from_slice(text.as_bytes());
    }
}
