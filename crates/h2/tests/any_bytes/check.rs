//! Frames of HTTP/2, to either end of a connection, whole and cut, and the blocks in them beside an independent decoder.

use assay_h2::hpack::Decoder;
use assay_h2::{Connection, ConnectionError, Event, Limits, Role, Settings};

/// What a connection makes of bytes that come in two parts.
fn read(role: Role, parts: [&[u8]; 2]) -> (Vec<String>, Option<ConnectionError>) {
    let mut connection = Connection::new(role, &Settings::default(), 0, Limits::DEFAULT);
    let (mut pending, mut events) = (Vec::new(), Vec::new());
    for part in parts {
        pending.extend_from_slice(part);
        loop {
            let used = match connection.read(&pending) {
                Ok(None) => break,
                Ok(Some((used, event))) => {
                    events.push(format!("{event:?}"));
                    if let Event::Fields { block, .. } = event {
                        let block = block.into_owned();
                        let mut told = 0;
                        let decoded =
                            connection.decode(&block, |name, value| told += name.len() + value.len());
                        assert!(told <= Limits::DEFAULT.list_bytes);
                        if let Err(error) = decoded {
                            return (events, Some(error));
                        }
                    }
                    used
                }
                Err(error) => return (events, Some(error)),
            };
            pending.drain(..used);
            // An answer to a frame is no longer than one.
            assert!(connection.out().len() <= used + 128);
            connection.out().clear();
        }
    }
    (events, None)
}

/// Tries an input, whose first byte chooses the end, and whose second says where the rest is cut.
pub(crate) fn check(input: &[u8]) {
    let [choice, cut, bytes @ ..] = input else { return };
    let role = if choice & 1 == 0 { Role::Client } else { Role::Server };
    let preface = if role == Role::Server { assay_h2::frame::PREFACE } else { b"" };
    let mut all = preface.to_vec();
    Settings::default().write(&mut all);
    all.extend_from_slice(bytes);
    let cut = (usize::from(*cut) * 4).min(all.len());
    let (events, error) = read(role, [&all, b""]);
    let (cut_events, cut_error) = read(role, [&all[..cut], &all[cut..]]);
    assert_eq!(error, cut_error);
    // The preface may be told in parts.
    let told = |events: Vec<String>| -> Vec<String> {
        events.into_iter().filter(|event| !event.starts_with("Nothing")).collect()
    };
    assert_eq!(told(events), told(cut_events));
    let mut ours = Vec::new();
    let decoded = Decoder::new(4096)
        .decode(bytes, usize::MAX, |name, value| ours.push((name.to_vec(), value.to_vec())));
    // The other one panics on some blocks that are cut short, so it is asked about whole ones only.
    if decoded.is_ok() && !ours.is_empty() {
        let theirs = fluke_hpack::Decoder::new().decode(bytes);
        assert_eq!(theirs.expect("a block that we understand"), ours);
    }
}
