//! The opening handshake (RFC 6455 §4).

use assay_ws::handshake::check_answer;

use super::socket::{Socket, ask, fields, key};
use crate::objection::Keeping;
use crate::route::TestType;
use crate::rules::each;
use crate::site::Site;
use crate::types::common;

pub(super) fn accept(site: &Site) -> Keeping {
    Socket::open(site).map(drop)
}

pub(super) fn any_case(site: &Site) -> Keeping {
    let key = key();
    let fields = format!(
        "uPGRADE: WEBSOCKET\r\nconnection: keep-alive, upgrade\r\nSEC-WEBSOCKET-VERSION: 13\r\nsec-websocket-key: {key}\r\n"
    );
    let (talk, answer) = ask(site, &fields)?;
    check_answer(answer.status(), answer.fields(), key.as_bytes())
        .map_err(|declined| talk.fault(&format!("no WebSocket was opened: {declined}")))
}

/// Demands that a request with these lines opens nothing.
fn opens_nothing(site: &Site, fields: &str) -> Keeping {
    let (talk, answer) = ask(site, fields)?;
    talk.demand(answer.status() != 101, "a WebSocket was opened")
}

fn of_another_version() -> String {
    fields(&key()).replace("Version: 13", "Version: 99")
}

pub(super) fn version(site: &Site) -> Keeping {
    opens_nothing(site, &of_another_version())
}

pub(super) fn version_told(site: &Site) -> Keeping {
    let (talk, answer) = ask(site, &of_another_version())?;
    let told = answer.field("Sec-WebSocket-Version").unwrap_or_default();
    talk.demand(
        told.split(',').any(|version| version.trim() == "13"),
        "it does not say that it speaks version 13",
    )
}

pub(super) fn no_key(site: &Site) -> Keeping {
    let fields = fields("");
    opens_nothing(site, &fields[..fields.len() - "Sec-WebSocket-Key: \r\n".len()])
}

pub(super) fn asked_for(site: &Site) -> Keeping {
    each(["Upgrade: websocket\r\n", "Connection: Upgrade\r\n"], |line| {
        opens_nothing(site, &fields(&key()).replace(*line, ""))
    })
}

pub(super) fn method(site: &Site) -> Keeping {
    let path = &common::route_of(site, TestType::WebSocket)?.path;
    let mut talk = site.open()?;
    talk.send(&site.request_for("POST", path, &(fields(&key()) + "Content-Length: 0\r\n"), ""))?;
    let opened = talk.answer_or_end()?.is_some_and(|answer| answer.status() == 101);
    talk.demand(!opened, "a WebSocket was opened by POST")
}

pub(super) fn http10(site: &Site) -> Keeping {
    let path = &common::route_of(site, TestType::WebSocket)?.path;
    let mut talk = site.open()?;
    let request = site.request_for("GET", path, &fields(&key()), "");
    let request = String::from_utf8_lossy(&request).replacen("HTTP/1.1", "HTTP/1.0", 1);
    talk.send(request.as_bytes())?;
    let opened = talk.answer_or_end()?.is_some_and(|answer| answer.status() == 101);
    talk.demand(!opened, "a WebSocket was opened by HTTP/1.0")
}

pub(super) fn extension(site: &Site) -> Keeping {
    each(["", "Sec-WebSocket-Extensions: x-assay-unknown; a=1\r\n"], |offer| {
        let (talk, answer) = ask(site, &(fields(&key()) + offer))?;
        talk.demand(answer.field("Sec-WebSocket-Extensions").is_none(), "it uses an extension")
    })
}

pub(super) fn protocol(site: &Site) -> Keeping {
    let (talk, answer) = ask(site, &fields(&key()))?;
    talk.demand(answer.field("Sec-WebSocket-Protocol").is_none(), "it chooses a subprotocol")
}
