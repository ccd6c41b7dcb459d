//! What is wrong with a request, each fault by the name of its rule.

use assay_h2::Code::*;
use assay_h2::hpack::Decoder;

use super::Manner;
use super::blocks::Field;
use super::connection::{Block, Connection, End, Taken};

/// What is said instead of 100, by none of which a client may go on.
pub(crate) const AT_EXPECTATION: [&str; 4] =
    [ENDS_AT_EXPECTATION, RESETS_AT_EXPECTATION, WIDENS_AT_EXPECTATION, HINTS_AT_EXPECTATION];
const ENDS_AT_EXPECTATION: &str = "ends at an expectation";
const RESETS_AT_EXPECTATION: &str = "resets at an expectation";
const WIDENS_AT_EXPECTATION: &str = "widens at an expectation";
const HINTS_AT_EXPECTATION: &str = "hints at an expectation";

/// What a request asks for.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) method: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) length: Option<u64>,
    pub(super) expects: bool,
}

impl Connection {
    pub(super) fn take_request(&mut self, block: &Block) -> Taken {
        let id = block.stream;
        let Some((fields, is_large)) = self.decode(&block.bytes)? else { return Ok(()) };
        self.open(id, block.end_stream)?;
        if !self.has_room()? {
            return self.reset(id, RefusedStream);
        }
        if is_large && !self.breaks("h2-head-bomb") {
            self.answer(id, 431, false);
            return Ok(());
        }
        if faults(&fields).iter().any(|rule| !self.breaks(rule)) {
            if self.breaks("h2-hpack-remembers-refused") {
                self.decoder = Decoder::new(4096);
            }
            return self.reset(id, ProtocolError);
        }
        self.check_liked(id, &fields, block.end_stream)?;
        let asked = asked(&fields);
        if asked.expects {
            self.take_expectation(id)?;
        }
        let status = self.status(&asked);
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        (stream.length, stream.status) = (asked.length, status);
        let is_crowd = self.streams.len() > 1 && self.streams.values().any(|stream| stream.is_open);
        if is_crowd && self.breaks("h2-streams-in-turn") {
            return Ok(());
        }
        if !block.end_stream {
            if self.shared.manner == Manner::Early {
                self.answer(id, status, true);
            }
            return Ok(());
        }
        if asked.method == b"HEAD" {
            self.answer(id, status, self.breaks("h2-head"));
            return Ok(());
        }
        self.end_request(id, "")
    }

    /// A request waits for the word to send its body.
    fn take_expectation(&mut self, id: u32) -> Taken {
        match self.shared.fault {
            "h2-expect-continue" => Ok(()),
            ENDS_AT_EXPECTATION => Err(End::Quiet),
            RESETS_AT_EXPECTATION => self.reset(id, Cancel),
            WIDENS_AT_EXPECTATION => {
                self.give_back(id, 1);
                Ok(())
            }
            HINTS_AT_EXPECTATION => {
                self.write_interim(id, b"103");
                Ok(())
            }
            _ => {
                self.write_interim(id, b"100");
                Ok(())
            }
        }
    }

    pub(super) fn take_trailers(&mut self, block: &Block) -> Taken {
        let id = block.stream;
        let Some((fields, _)) = self.decode(&block.bytes)? else { return Ok(()) };
        if self.breaks("h2-hpack-remembers-trailers") {
            self.decoder = Decoder::new(4096);
        }
        if !block.end_stream && !self.breaks("h2-second-headers") {
            return self.reset(id, ProtocolError);
        }
        let has = |is_it: &dyn Fn(&[u8]) -> bool| fields.iter().any(|(name, _)| is_it(name));
        let faults = [
            (has(&|name| name.starts_with(b":")), "h2-pseudo-in-trailers"),
            (has(&|name| name.iter().any(u8::is_ascii_uppercase)), "h2-trailers-uppercase"),
            (has(&|name| name == b"transfer-encoding"), "h2-trailers-connection"),
        ];
        if faults.iter().any(|(is_wrong, rule)| *is_wrong && !self.breaks(rule)) {
            return self.reset(id, ProtocolError);
        }
        if block.end_stream { self.end_request(id, "trailers") } else { Ok(()) }
    }

    /// Objects to what is right because a rule is broken.
    fn check_liked(&mut self, id: u32, fields: &[Field], end_stream: bool) -> Taken {
        let count = |wanted: &[u8]| fields.iter().filter(|(name, _)| name == wanted).count();
        let is_post = fields.iter().any(|(name, value)| name == b":method" && value == b"POST");
        let is_long = count(b"content-length") > 0;
        let is_missing =
            fields.iter().any(|(name, value)| name == b":path" && value.starts_with(b"/assay-check"));
        let dislikes = [
            (is_post && is_long, "h2-post"),
            (is_post && !is_long && !end_stream, "h2-post-without-length"),
            (is_post && end_stream, "h2-post-empty"),
            (count(b"te") > 0, "h2-te-trailers"),
            (count(b"cookie") > 1, "h2-cookies"),
            (fields.iter().any(|(_, value)| value.is_empty()), "h2-value-empty"),
            (fields.iter().any(|(name, _)| name.contains(&b'!')), "h2-name-symbols"),
            (count(b":authority") == 0, "h2-host"),
            (count(b"host") > 0, "h2-host-same"),
            (fields.first().is_some_and(|(name, _)| name != b":method"), "h2-pseudo-any-order"),
            (is_missing, "h2-unknown-path"),
        ];
        let is_disliked = dislikes.iter().any(|(is_so, rule)| *is_so && self.breaks(rule));
        if is_disliked { self.reset(id, InternalError) } else { Ok(()) }
    }
}

/// What it asks for; as much as can be read of it where what is wrong is overlooked.
fn asked(fields: &[Field]) -> Asked {
    let of = |wanted: &[u8]| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let mut asked = Asked { path: b"/".to_vec(), ..Asked::default() };
    asked.method = of(b":method").unwrap_or_default();
    // What is overlooked is served like the plain request.
    asked.path = of(b":path").filter(|path| path.starts_with(b"/assay-check")).unwrap_or(asked.path);
    asked.length = of(b"content-length").and_then(|value| std::str::from_utf8(&value).ok()?.parse().ok());
    asked.expects = of(b"expect").is_some();
    asked
}

/// The rules that the fields of a request break.
fn faults(fields: &[Field]) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let mut saw_other = false;
    for (name, value) in fields {
        let is_pseudo = name.starts_with(b":");
        if is_pseudo && saw_other {
            faults.push("h2-pseudo-behind-field");
        }
        saw_other |= !is_pseudo;
        faults.extend(fault_of_name(name));
        faults.extend(fault_of_value(name, value));
    }
    faults.extend(faults_of_control(fields));
    faults.extend(faults_of_length(fields));
    faults
}

fn fault_of_name(name: &[u8]) -> Option<&'static str> {
    let has = |is_it: fn(&u8) -> bool| name.iter().any(is_it);
    match name {
        b":method" | b":scheme" | b":path" | b":authority" => None,
        b":status" => Some("h2-pseudo-of-answers"),
        [b':', ..] => Some("h2-pseudo-unknown"),
        [] => Some("h2-name-empty"),
        b"connection" => Some("h2-field-connection"),
        b"proxy-connection" => Some("h2-field-proxy-connection"),
        b"keep-alive" => Some("h2-field-keep-alive"),
        b"transfer-encoding" => Some("h2-field-transfer-encoding"),
        b"upgrade" => Some("h2-field-upgrade"),
        _ if has(u8::is_ascii_uppercase) => Some("h2-name-uppercase"),
        _ if has(|byte| *byte <= b' ') => Some("h2-name-space"),
        _ if has(|byte| *byte == b':') => Some("h2-name-colon"),
        _ if has(|byte| *byte > 0x7e) => Some("h2-name-not-ascii"),
        _ => None,
    }
}

fn fault_of_value(name: &[u8], value: &[u8]) -> Option<&'static str> {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    match name {
        b"te" if value != b"trailers" => Some("h2-field-te"),
        b":method" if !value.iter().all(u8::is_ascii_uppercase) || value.is_empty() => {
            Some("h2-method-empty")
        }
        b":path" if value.is_empty() => Some("h2-path-empty"),
        b":path" if value.iter().any(|byte| *byte <= b' ') => Some("h2-path-space"),
        b":authority" if value.iter().any(|byte| *byte <= b' ') => Some("h2-authority-space"),
        b":path" if value[0] != b'/' => Some("h2-path-relative"),
        _ if value.contains(&0) => Some("h2-value-nul"),
        _ if value.contains(&b'\r') && !value.contains(&b'\n') => Some("h2-value-cr"),
        _ if value.contains(&b'\n') => Some("h2-value-lf"),
        _ if is_space(value.first()) || is_space(value.last()) => Some("h2-value-space"),
        _ => None,
    }
}

fn faults_of_control(fields: &[Field]) -> Vec<&'static str> {
    let of = |wanted: &[u8]| fields.iter().filter(|(name, _)| name == wanted).collect::<Vec<_>>();
    let [method, scheme, path, authority] =
        [&b":method"[..], b":scheme", b":path", b":authority"].map(|name| of(name).len());
    let host = of(b"host").first().map(|(_, value)| value);
    let differs = host.is_some_and(|host| of(b":authority").iter().any(|(_, value)| value != host));
    let connects = of(b":method").iter().any(|(_, value)| value == b"CONNECT");
    let all = [
        (method == 0, "h2-method-missing"),
        (scheme == 0, "h2-scheme-missing"),
        (path == 0, "h2-path-missing"),
        (method > 1, "h2-method-twice"),
        (scheme > 1, "h2-scheme-twice"),
        (path > 1, "h2-path-twice"),
        (authority > 1, "h2-authority-twice"),
        (differs, "h2-host-differs"),
        (connects, "h2-connect"),
    ];
    all.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, rule)| rule).collect()
}

fn faults_of_length(fields: &[Field]) -> Option<&'static str> {
    let mut lengths: Vec<&[u8]> = fields
        .iter()
        .filter(|(name, _)| name == b"content-length")
        .map(|(_, value)| value.as_slice())
        .collect();
    lengths.dedup();
    let is_number = |value: &&[u8]| !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    match lengths.as_slice() {
        [] => None,
        all if !all.iter().all(is_number) => Some("h2-length-no-number"),
        [_] => None,
        _ => Some("h2-lengths-differ"),
    }
}
