//! The fields that decide where a message ends and whether its connection stays open (RFC 9112 §6 and §9.3).

use crate::chars;
use crate::error::ParseErrorKind;
use crate::known::KnownField;
use crate::scan::Version;

/// What Content-Length, Transfer-Encoding and Connection said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Bytes of body announced. A list of equal numbers counts as one of them (RFC 9110 §8.6).
    pub content_length: Option<u64>,
    /// How the body is coded for transfer.
    pub transfer: Transfer,
    /// `Connection: close` was said.
    pub close: bool,
    /// `Connection: keep-alive` was said.
    pub keep_alive: bool,
}

/// How a body is coded for transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transfer {
    /// No Transfer-Encoding.
    #[default]
    Absent,
    /// Chunked alone.
    Chunked,
    /// Other codings, then chunked.
    OtherThenChunked,
    /// Codings, none of them chunked: the body of a response ends with the connection.
    Other,
}

impl Message {
    /// Takes note of a field line, when it is one of the three.
    #[inline]
    pub(crate) fn note(&mut self, field: KnownField, value: &[u8]) -> Result<(), ParseErrorKind> {
        match field {
            KnownField::ContentLength => self.note_length(value),
            KnownField::TransferEncoding => self.note_codings(value),
            KnownField::Connection => {
                self.note_options(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks what only the whole section can tell.
    #[inline]
    pub(crate) fn settle(&self, version: Version) -> Result<(), ParseErrorKind> {
        match self.transfer {
            Transfer::Absent => Ok(()),
            _ if self.content_length.is_some() => Err(ParseErrorKind::ConflictingLengths),
            _ if version == Version::Http10 => Err(ParseErrorKind::TransferEncodingInHttp10),
            _ => Ok(()),
        }
    }

    /// Whether the connection may carry another message after this one (RFC 9112 §9.3).
    #[inline]
    pub(crate) fn keeps_alive(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }

    fn note_length(&mut self, value: &[u8]) -> Result<(), ParseErrorKind> {
        for element in chars::list(value) {
            let length = decimal(element).ok_or(ParseErrorKind::BadContentLength)?;
            if *self.content_length.get_or_insert(length) != length {
                return Err(ParseErrorKind::BadContentLength);
            }
        }
        Ok(())
    }

    /// Empty elements are refused here, though a list may have them: nobody honest sends them, and parsers differ.
    fn note_codings(&mut self, value: &[u8]) -> Result<(), ParseErrorKind> {
        for coding in chars::list(value) {
            let name_len = coding.iter().position(|&b| !chars::is_token(b)).unwrap_or(coding.len());
            let (name, parameters) = coding.split_at(name_len);
            let chunked = name.eq_ignore_ascii_case(b"chunked");
            let well_formed = matches!(chars::trim(parameters), [] | [b';', ..]) && !name.is_empty();
            if !well_formed || (chunked && !parameters.is_empty()) {
                return Err(ParseErrorKind::BadTransferEncoding);
            }
            self.transfer = match (self.transfer, chunked) {
                (Transfer::Absent, true) => Transfer::Chunked,
                (Transfer::Other, true) => Transfer::OtherThenChunked,
                (Transfer::Absent | Transfer::Other, false) => Transfer::Other,
                _ => return Err(ParseErrorKind::BadTransferEncoding),
            };
        }
        Ok(())
    }

    #[inline]
    fn note_options(&mut self, value: &[u8]) {
        for option in chars::list(value) {
            match option.len() {
                5 if option.eq_ignore_ascii_case(b"close") => self.close = true,
                10 if option.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                _ => {}
            }
        }
    }
}

/// The number below 2^64 that these digits are: a length has nothing else, no sign either (`1*DIGIT`, RFC 9110 §8.6).
#[inline]
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
