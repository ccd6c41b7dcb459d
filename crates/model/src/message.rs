//! Messages of Protocol Buffers as text, without a schema: what `protoc --decode_raw` prints of a message is read back.
//!
//! | text | field |
//! |---|---|
//! | `1: "hello"` | bytes or a text; in it `\n`, `\"`, `\\` and `\303` (octal) stand for what they do in C |
//! | `2: 150`, `2: -1` | a number of variable length |
//! | `3: 0x3ff0000000000000` | eight bytes: a double, or a fixed number |
//! | `4: 0x3f800000` | four bytes: a float, or a fixed number |
//! | `5 { 1: "a" }` | a message |
//! | `"\010\001"` | no field: these bytes, as they are |
//!
//! Fields follow each other with or without space; `#` begins a comment that goes to the end of its line.

use thiserror::Error;

/// The highest number of a field.
const MOST_NUMBER: u64 = (1 << 29) - 1;

/// Messages within each other at most.
const MOST_DEEP: usize = 64;

/// A text that stands for no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("byte {at}: {why}; write fields as in `1: \"text\" 2: 150 3 {{ 1: \"inner\" }}`")]
pub struct BadMessage {
    /// The place in the text, in bytes.
    pub at: usize,
    /// What is wrong.
    pub why: &'static str,
}

/// Appends the message that a text stands for.
///
/// # Errors
/// The first place that cannot be understood; what stands before it is appended.
pub fn encode(text: &str, out: &mut Vec<u8>) -> Result<(), BadMessage> {
    let mut scan = Scan { text: text.as_bytes(), at: 0 };
    scan.fields(0, out)?;
    match scan.peek() {
        None => Ok(()),
        Some(_) => Err(scan.bad(scan.at, "`}` without its `{`")),
    }
}

/// A text that stands for these bytes, whatever they are.
pub fn literal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.extend(['\\', octal(byte >> 6), octal(byte >> 3), octal(byte)]),
        }
    }
    text.push('"');
    text
}

/// The last octal digit of a number.
fn octal(number: u8) -> char {
    char::from(b'0' + (number & 7))
}

/// A text, and how far it was read.
struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Scan<'t> {
    /// All fields up to a `}` or the end.
    fn fields(&mut self, depth: usize, out: &mut Vec<u8>) -> Result<(), BadMessage> {
        if depth > MOST_DEEP {
            return Err(self.bad(self.at, "messages are more than 64 deep"));
        }
        loop {
            self.skip_space();
            match self.peek() {
                None | Some(b'}') => return Ok(()),
                Some(b'"') => self.string(out)?,
                Some(_) => self.field(depth, out)?,
            }
        }
    }

    fn field(&mut self, depth: usize, out: &mut Vec<u8>) -> Result<(), BadMessage> {
        let begin = self.at;
        let number = match self.word() {
            b"" => return Err(self.bad(begin, "a field's number is missing")),
            digits => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok()),
        };
        let in_range = number.filter(|number| (1..=MOST_NUMBER).contains(&u64::from(*number)));
        let Some(number) = in_range else {
            let is_number = self.text[begin].is_ascii_digit();
            let why =
                if is_number { "a field's number is 1 to 536870911" } else { "a field's number is missing" };
            return Err(self.bad(begin, why));
        };
        self.skip_space();
        let has_colon = self.peek() == Some(b':');
        if has_colon {
            self.at += 1;
            self.skip_space();
        }
        match self.peek() {
            Some(b'{') => self.message(number, depth, out),
            _ if !has_colon => Err(self.bad(self.at, "`:` or `{` belongs behind a field's number")),
            Some(b'"') => {
                let mut bytes = Vec::new();
                self.string(&mut bytes)?;
                write_bytes(number, &bytes, out);
                Ok(())
            }
            _ => self.number(number, out),
        }
    }

    fn message(&mut self, number: u32, depth: usize, out: &mut Vec<u8>) -> Result<(), BadMessage> {
        let begin = self.at;
        self.at += 1;
        let mut inner = Vec::new();
        self.fields(depth + 1, &mut inner)?;
        if self.peek().is_none() {
            return Err(self.bad(begin, "`{` without its `}`"));
        }
        self.at += 1;
        write_bytes(number, &inner, out);
        Ok(())
    }

    fn number(&mut self, number: u32, out: &mut Vec<u8>) -> Result<(), BadMessage> {
        let begin = self.at;
        let word = std::str::from_utf8(self.word()).unwrap_or_default();
        if word.is_empty() {
            return Err(self.bad(begin, "a value is missing"));
        }
        if let Some(digits) = word.strip_prefix("0x") {
            let fixed = u64::from_str_radix(digits, 16).ok().zip(fixed_kind(digits.len()));
            let why = "a fixed number has 8 or 16 digits behind its 0x";
            let (value, (kind, bytes)) = fixed.ok_or_else(|| self.bad(begin, why))?;
            write_tag(number, kind, out);
            out.extend_from_slice(&value.to_le_bytes()[..bytes]);
            return Ok(());
        }
        let negative = |word: &str| word.parse::<i64>().ok().map(i64::cast_unsigned);
        let value = word.parse::<u64>().ok().or_else(|| negative(word));
        let value = value.ok_or_else(|| self.bad(begin, "a number that does not fit 64 bits, or is none"))?;
        write_tag(number, 0, out);
        write_varint(value, out);
        Ok(())
    }

    /// Appends the bytes between two quotation marks.
    fn string(&mut self, out: &mut Vec<u8>) -> Result<(), BadMessage> {
        let begin = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.bad(begin, "a text without its end")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let (byte, length) = escape(&self.text[self.at + 1..])
                        .ok_or_else(|| self.bad(self.at, "an escape that means nothing"))?;
                    out.push(byte);
                    self.at += 1 + length;
                }
                Some(byte) => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// The letters, digits and signs that come next.
    fn word(&mut self) -> &'t [u8] {
        let rest = &self.text[self.at..];
        let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'-';
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                _ if byte.is_ascii_whitespace() => self.at += 1,
                _ => return,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn bad(&self, at: usize, why: &'static str) -> BadMessage {
        BadMessage { at, why }
    }
}

/// Appends a number of variable length (protobuf.dev/programming-guides/encoding#varints).
fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends what stands before a field's value.
fn write_tag(number: u32, kind: u8, out: &mut Vec<u8>) {
    write_varint((u64::from(number) << 3) | u64::from(kind), out);
}

/// Appends a field of bytes.
fn write_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_tag(number, 2, out);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Type and bytes of a fixed number with so many hexadecimal digits.
fn fixed_kind(digits: usize) -> Option<(u8, usize)> {
    match digits {
        16 => Some((1, 8)),
        8 => Some((5, 4)),
        _ => None,
    }
}

/// The byte that an escape stands for, and the escape's length without its backslash.
fn escape(behind: &[u8]) -> Option<(u8, usize)> {
    let byte = match behind.first()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        byte @ (b'"' | b'\'' | b'\\') => *byte,
        b'0'..=b'3' => {
            let digits = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok())?;
            return Some((u8::from_str_radix(digits, 8).ok()?, 3));
        }
        _ => return None,
    };
    Some((byte, 1))
}
