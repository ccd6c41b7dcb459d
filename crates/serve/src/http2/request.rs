//! A request's compressed head as one of HTTP/1.1, so that what it means is decided in one place for both.

use assay_h2::field::{is_name, is_of_connection, is_value};
use assay_h2::{Connection, ConnectionError};
use assay_http::decimal;

use super::call::CallFields;

/// The head of a request in the words of HTTP/1.1, and what only HTTP/2 says of it.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// Request line, fields and the empty line behind them.
    pub(crate) text: Vec<u8>,
    /// Length of body that it announces, which is not in the text.
    pub(crate) length: Option<u64>,
    /// Whether the list of fields is longer than it may be.
    pub(crate) is_too_large: bool,
    /// Whether the client waits to be told to go on.
    pub(crate) expects_continue: bool,
    /// What makes it a call of gRPC.
    pub(crate) call: CallFields,
}

/// A head that is not one (RFC 9113 §8.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

#[derive(Default)]
struct Fields {
    method: Option<Vec<u8>>,
    scheme: Option<Vec<u8>>,
    authority: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    /// The other fields as lines.
    lines: Vec<u8>,
    length: Option<u64>,
    host: Option<Vec<u8>>,
    expects_continue: bool,
    call: CallFields,
    has_others: bool,
    is_malformed: bool,
}

/// Reads a block.
///
/// # Errors
/// The outer one ends the connection, the inner one the stream.
pub(crate) fn read(
    connection: &mut Connection,
    block: &[u8],
) -> Result<Result<Head, Malformed>, ConnectionError> {
    let mut fields = Fields::default();
    let fits = connection.decode(block, |name, value| {
        let taken = fields.take(name, value);
        fields.is_malformed |= taken.is_none();
    })?;
    Ok(fields.settle(fits).ok_or(Malformed))
}

/// Reads trailers, of which nothing is kept.
///
/// # Errors
/// The outer one ends the connection, the inner one the stream.
pub(crate) fn read_trailers(
    connection: &mut Connection,
    block: &[u8],
) -> Result<Result<(), Malformed>, ConnectionError> {
    let mut fields = Fields::default();
    let mut is_malformed = false;
    connection.decode(block, |name, value| is_malformed |= fields.take_other(name, value).is_none())?;
    Ok(if is_malformed { Err(Malformed) } else { Ok(()) })
}

impl Fields {
    fn take(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        if !is_value(value) {
            return None;
        }
        let pseudo = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            _ => return self.take_other(name, value),
        };
        // RFC 9113 §8.3: before all others, and each once.
        let is_right = !self.has_others && pseudo.is_none();
        *pseudo = Some(value.to_vec());
        is_right.then_some(())
    }

    fn take_other(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        self.has_others = true;
        self.call.note(name, value);
        if !is_name(name) || !is_value(value) {
            return None;
        }
        match name {
            _ if is_of_connection(name) => None,
            b"te" => (value == b"trailers").then_some(()),
            b"host" => {
                self.host = Some(value.to_vec());
                Some(())
            }
            b"content-length" => {
                let length = decimal(value)?;
                self.length.replace(length).is_none_or(|before| before == length).then_some(())
            }
            b"expect" => {
                self.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                Some(())
            }
            _ => {
                for part in [name, b": ", value, b"\r\n"] {
                    self.lines.extend_from_slice(part);
                }
                Some(())
            }
        }
    }

    fn settle(self, fits: bool) -> Option<Head> {
        if !fits {
            return Some(Head { is_too_large: true, ..Head::default() });
        }
        let (method, path) = (self.method?, self.path?);
        let scheme = self.scheme?;
        let is_malformed = self.is_malformed || method.is_empty() || path.is_empty() || scheme.is_empty();
        let has_space = |text: &[u8]| text.iter().any(|byte| *byte <= b' ');
        if is_malformed || has_space(&method) || has_space(&path) {
            return None;
        }
        if let (Some(authority), Some(host)) = (&self.authority, &self.host)
            && !is_same_host(authority, host, &scheme)
        {
            return None;
        }
        let host = self.authority.or(self.host).unwrap_or_default();
        let mut text = Vec::with_capacity(64 + path.len() + host.len() + self.lines.len());
        for part in [&method[..], b" ", &path, b" HTTP/1.1\r\nHost: ", &host, b"\r\n", &self.lines, b"\r\n"] {
            text.extend_from_slice(part);
        }
        let (length, expects_continue, call) = (self.length, self.expects_continue, self.call);
        Some(Head { text, length, is_too_large: false, expects_continue, call })
    }
}

/// Whether two authorities mean the same, with or without the port of their scheme (RFC 9113 §8.3.1).
fn is_same_host(one: &[u8], other: &[u8], scheme: &[u8]) -> bool {
    let port: &[u8] = if scheme == b"https" { b":443" } else { b":80" };
    let bare = |authority: &[u8]| authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase();
    bare(one) == bare(other)
}
