//! Answers, right but for the fault.

use std::time::{Duration, UNIX_EPOCH};

use assay_http::date;

use super::reading::Asked;
use super::{Fault, Shared, chat, rows, unix_now};

const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
/// Content beyond this is none that [`Fault::PickyAboutContent`] likes.
const LIKED_BYTES: usize = 5;

/// The answer to a request.
pub(super) fn bytes(asked: &Asked, shared: &Shared) -> Vec<u8> {
    let fault = shared.fault;
    let (mut status, kind, mut body) = content(asked, shared);
    match fault {
        Fault::WrongStatus if status == 200 => status = 201,
        Fault::WrongBody if status == 200 => body = b"{\"message\":\"hello\"}".to_vec(),
        _ => {}
    }
    let mut head = format!("HTTP/1.1 {status} \r\n");
    head += &common(shared);
    head += if fault == Fault::WrongType { "Content-Type: text/html\r\n" } else { kind };
    if status == 405 && fault != Fault::NoAllow {
        head += "Allow: GET, HEAD\r\n";
    }
    head += connection(asked, fault);
    let to_head = asked.method == "HEAD";
    if fault == Fault::ChunksAlways {
        head += "Transfer-Encoding: chunked\r\n";
        body = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    } else if fault == Fault::HeadTellsZero && to_head {
        head += "Content-Length: 0\r\n";
    } else if fault != Fault::NoLength {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    if to_head && fault != Fault::HeadWithContent {
        body.clear();
    }
    [head.as_bytes(), b"\r\n", &body].concat()
}

/// An answer to what is no request.
pub(super) fn refusal(status: u16, shared: &Shared) -> Vec<u8> {
    let common = common(shared);
    format!("HTTP/1.1 {status} \r\n{common}Connection: close\r\nContent-Length: 0\r\n\r\n").into_bytes()
}

fn content(asked: &Asked, shared: &Shared) -> (u16, &'static str, Vec<u8>) {
    const TEXT: &str = "Content-Type: text/plain\r\n";
    let fault = shared.fault;
    if fault == Fault::AnyFile {
        let path = asked.path.trim_start_matches('/');
        if let Ok(file) = std::fs::read(shared.root.join(path)) {
            return (200, TEXT, file);
        }
    }
    let method = asked.method.as_str();
    let known = KNOWN.contains(&method) || fault >= Fault::Rough;
    let allowed = matches!(method, "GET" | "HEAD") && !(fault == Fault::NoHead && method == "HEAD");
    if let Some(content) = rows::content(&asked.target, fault, &shared.table) {
        return content;
    }
    if let Some(content) = chat::content(asked, fault, &shared.chat) {
        return content;
    }
    let is_picky = fault == Fault::PickyAboutContent && asked.body.len() > LIKED_BYTES;
    match asked.path.as_str() {
        _ if is_picky => (400, TEXT, b"no such order".to_vec()),
        _ if !known => (501, TEXT, b"not implemented".to_vec()),
        "/" | "/json" | "/plaintext" | "/j" if !allowed => (405, TEXT, b"not allowed".to_vec()),
        "/" => (200, TEXT, b"hello".to_vec()),
        "/json" | "/j" => {
            (200, "Content-Type: application/json\r\n", b"{\"message\":\"Hello, World!\"}".to_vec())
        }
        "/plaintext" => (200, TEXT, b"Hello, World!".to_vec()),
        _ if fault == Fault::EverythingExists => (200, TEXT, b"hello".to_vec()),
        _ => (404, TEXT, b"not found".to_vec()),
    }
}

/// Server and Date.
fn common(shared: &Shared) -> String {
    let server = if shared.fault == Fault::NoServer { "" } else { "Server: faulty\r\n" };
    let began = shared.began.duration_since(UNIX_EPOCH).map_or(0, |since: Duration| since.as_secs());
    let unix_s = if shared.fault == Fault::FrozenDate { began } else { unix_now() };
    let date = String::from_utf8_lossy(&date::format(unix_s)).into_owned();
    match shared.fault {
        Fault::NoDate => server.to_owned(),
        Fault::BadDate => format!("{server}Date: {}\r\n", date.replace("GMT", "UTC")),
        _ => format!("{server}Date: {date}\r\n"),
    }
}

fn connection(asked: &Asked, fault: Fault) -> &'static str {
    match (asked.is_10, asked.close) {
        (false, true) if fault != Fault::ClosesWordlessly => "Connection: close\r\n",
        (true, _) if fault >= Fault::Rough && asked.keep_alive => "Connection: keep-alive\r\n",
        _ => "",
    }
}
