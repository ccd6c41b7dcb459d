//! A connection against bytes by hand, and against itself.

use super::*;
use crate::error::Why;
use crate::frame::{write_block, write_reset};
use proptest::prelude::*;

fn server() -> Connection {
    let mut server = Connection::new(Role::Server, &Settings::default(), 65_535, Limits::DEFAULT);
    let mut hello = PREFACE.to_vec();
    Settings::default().write(&mut hello);
    read_all(&mut server, &hello).unwrap();
    server.out().clear();
    server
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let head = Head { len: payload.len(), kind: Kind::of(kind), flags, stream };
    [&head.bytes()[..], payload].concat()
}

fn read_all(connection: &mut Connection, input: &[u8]) -> Result<Vec<Event<'static>>, ConnectionError> {
    let (mut at, mut events) = (0, Vec::new());
    while let Some((used, event)) = connection.read(&input[at..])? {
        events.push(match event {
            Event::Fields { stream, end_stream, block } => {
                Event::Fields { stream, end_stream, block: Cow::Owned(block.into_owned()) }
            }
            Event::Data { stream, data, counted, end_stream } => {
                Event::Data { stream, data: data.to_vec().leak(), counted, end_stream }
            }
            Event::Reset { stream, code } => Event::Reset { stream, code },
            Event::Window { stream, increment } => Event::Window { stream, increment },
            Event::Settings { window_change } => Event::Settings { window_change },
            Event::GoAway { last, code } => Event::GoAway { last, code },
            Event::Spoilt { stream, code } => Event::Spoilt { stream, code },
            Event::Nothing { stream } => Event::Nothing { stream },
        });
        at += used;
    }
    Ok(events)
}

fn code(frames: &[Vec<u8>]) -> Code {
    read_all(&mut server(), &frames.concat()).unwrap_err().code
}

#[test]
fn both_ends_greet_each_other() {
    let settings = Settings { initial_window: MAX_31, enable_push: false, ..Settings::default() };
    let mut client = Connection::new(Role::Client, &settings, MAX_31, Limits::DEFAULT);
    let mut server = Connection::new(Role::Server, &Settings::default(), 1 << 20, Limits::DEFAULT);
    let (hello, answer) = (std::mem::take(client.out()), std::mem::take(server.out()));
    read_all(&mut server, &hello).unwrap();
    read_all(&mut client, &answer).unwrap();
    assert_eq!(server.theirs(), &settings);
    assert_eq!((server.send_window(), client.send_window()), (i64::from(MAX_31), 1 << 20));
    assert!(client.has_begun() && server.has_begun());
    let (acks, theirs) = (std::mem::take(client.out()), std::mem::take(server.out()));
    assert_eq!((acks, theirs), (frame(4, flag::ACK, 0, &[]), frame(4, flag::ACK, 0, &[])));
}

#[test]
fn a_client_that_speaks_something_else_is_told_at_once() {
    let mut server = Connection::new(Role::Server, &Settings::default(), 0, Limits::DEFAULT);
    assert_eq!(server.read(b"PRI * HTT").unwrap(), Some((9, Event::Nothing { stream: 0 })));
    assert_eq!(server.read(b"X").unwrap_err().code, Code::ProtocolError);
    let mut server = Connection::new(Role::Server, &Settings::default(), 0, Limits::DEFAULT);
    let hello = [PREFACE, &frame(6, 0, 0, &[0; 8])].concat();
    assert_eq!(read_all(&mut server, &hello).unwrap_err().code, Code::ProtocolError);
}

#[test]
fn a_frame_that_breaks_a_rule_ends_the_connection_with_its_code() {
    use Code::{FlowControlError, FrameSizeError, ProtocolError};
    let long = vec![0; FRAME_BYTES + 1];
    for (code_expected, kind, flags, stream, payload) in [
        (ProtocolError, 0, 0, 0, &b"x"[..]),
        (FrameSizeError, 0, 0, 1, &long),
        (FrameSizeError, 0, flag::PADDED, 1, b""),
        (ProtocolError, 0, flag::PADDED, 1, &[1]),
        (ProtocolError, 1, flag::END_HEADERS, 0, b"\x82"),
        (ProtocolError, 1, flag::END_HEADERS | flag::PADDED, 1, &[5, 0x82]),
        (FrameSizeError, 1, flag::END_HEADERS | flag::PRIORITY, 1, &[0; 4]),
        (ProtocolError, 1, flag::END_HEADERS | flag::PRIORITY, 1, &[0, 0, 0, 1, 0]),
        (ProtocolError, 2, 0, 0, &[0; 5]),
        (ProtocolError, 3, 0, 0, &[0; 4]),
        (FrameSizeError, 3, 0, 1, &[0; 3]),
        (ProtocolError, 4, 0, 1, b""),
        (FrameSizeError, 4, 0, 0, &[0; 5]),
        (FrameSizeError, 4, flag::ACK, 0, &[0; 6]),
        (ProtocolError, 5, flag::END_HEADERS, 1, &[0, 0, 0, 2]),
        (ProtocolError, 6, 0, 1, &[0; 8]),
        (FrameSizeError, 6, 0, 0, &[0; 7]),
        (ProtocolError, 7, 0, 1, &[0; 8]),
        (FrameSizeError, 7, 0, 0, &[0; 7]),
        (ProtocolError, 8, 0, 0, &[0; 4]),
        (FrameSizeError, 8, 0, 1, &[0; 3]),
        (FlowControlError, 8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
        (ProtocolError, 9, flag::END_HEADERS, 1, b"\x82"),
    ] {
        assert_eq!(code(&[frame(kind, flags, stream, payload)]), code_expected, "{kind} {flags} {stream}");
    }
}

#[test]
fn a_fault_of_one_stream_leaves_the_connection() {
    let spoilt = |kind, payload: &[u8]| read_all(&mut server(), &frame(kind, 0, 3, payload)).unwrap();
    assert_eq!(spoilt(2, &[0; 4]), [Event::Spoilt { stream: 3, code: Code::FrameSizeError }]);
    assert_eq!(spoilt(2, &[0, 0, 0, 3, 0]), [Event::Spoilt { stream: 3, code: Code::ProtocolError }]);
    assert_eq!(spoilt(8, &[0; 4]), [Event::Spoilt { stream: 3, code: Code::ProtocolError }]);
    assert_eq!(spoilt(0xbb, b"whatever"), [Event::Nothing { stream: 0 }]);
}

#[test]
fn a_block_is_put_together_and_nothing_may_come_between() {
    let mut out = Vec::new();
    write_block(1, &vec![0x82; FRAME_BYTES * 2 + 1], true, &mut out);
    let events = read_all(&mut server(), &out).unwrap();
    let Some(Event::Fields { stream: 1, end_stream: true, block }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(block.len(), FRAME_BYTES * 2 + 1);
    let begin = frame(1, 0, 1, b"\x82");
    assert_eq!(code(&[begin.clone(), frame(6, 0, 0, &[0; 8])]), Code::ProtocolError);
    assert_eq!(code(&[begin.clone(), frame(9, 0, 3, b"\x82")]), Code::ProtocolError);
    assert_eq!(code(&[begin.clone(), frame(1, flag::END_HEADERS, 1, b"\x82")]), Code::ProtocolError);
}

#[test]
fn each_flood_meets_its_limit() {
    let limit = |frames: Vec<u8>| match read_all(&mut server(), &frames).unwrap_err() {
        ConnectionError { code: Code::EnhanceYourCalm, why: Why::Limit(name) } => name,
        other => panic!("{other:?}"),
    };
    let [begin, empty] = [frame(1, 0, 1, b"\x82"), frame(9, 0, 1, b"")];
    assert_eq!(limit([begin.clone(), empty.repeat(40)].concat()), "block_frames");
    assert_eq!(limit([begin, frame(9, 0, 1, &[0x82; FRAME_BYTES]).repeat(5)].concat()), "block_bytes");
    for idle in [
        frame(4, 0, 0, b""),
        frame(6, 0, 0, &[0; 8]),
        frame(2, 0, 1, &[0; 5]),
        frame(8, 0, 1, &[0, 0, 0, 1]),
        frame(0, 0, 1, b""),
        frame(0xee, 0, 0, b""),
    ] {
        assert_eq!(limit(idle.repeat(10_001)), "idle_frames");
    }
    let useful = frame(1, flag::END_HEADERS, 1, b"\x82");
    let ping = frame(6, 0, 0, &[0; 8]);
    for asking in [frame(4, 0, 0, b""), ping.clone(), frame(2, 0, 1, &[0; 4])] {
        let more = [asking, useful.clone()].concat().repeat(10_001);
        assert_eq!(limit([ping.clone(), more].concat()), "owed_frames");
    }
    let mut reset = frame(1, flag::END_HEADERS, 1, b"\x82");
    write_reset(1, 8, &mut reset);
    assert_eq!(limit(reset.repeat(1_001)), "resets");
}

#[test]
fn answers_that_are_taken_are_owed_no_more() {
    let (mut server, ping) = (server(), frame(6, 0, 0, &[0; 8]));
    for _ in 0..3 {
        read_all(&mut server, &[ping.repeat(9_000), frame(1, flag::END_HEADERS, 1, b"\x82")].concat())
            .unwrap();
        server.out().clear();
    }
}

#[test]
fn resets_of_streams_beside_answers_are_no_flood() {
    let (mut server, mut reset) = (server(), Vec::new());
    write_reset(1, 8, &mut reset);
    for _ in 0..10_000 {
        read_all(&mut server, &reset).unwrap();
        server.answered();
    }
}

#[test]
fn pings_are_answered_and_windows_told_in_large_portions() {
    let mut server = server();
    read_all(&mut server, &frame(6, 0, 0, b"12345678")).unwrap();
    assert_eq!(*server.out(), frame(6, flag::ACK, 0, b"12345678"));
    server.out().clear();
    let data = frame(0, 0, 1, &[0; 10_000]);
    for round in 1..=3 {
        read_all(&mut server, &data).unwrap();
        server.release(10_000);
        assert!(server.is_flushed(), "{round}");
    }
    read_all(&mut server, &data).unwrap();
    server.release(10_000);
    assert_eq!(*server.out(), frame(8, 0, 0, &40_000u32.to_be_bytes()));
    let flood = read_all(&mut server, &data.repeat(7)).unwrap_err();
    assert_eq!(flood.code, Code::FlowControlError);
}

proptest! {
    #[test]
    fn however_bytes_are_split_they_mean_the_same(
        frames in proptest::collection::vec((0u8..12, any::<u8>(), 0u32..6, proptest::collection::vec(any::<u8>(), 0..40)), 0..20),
        cut in 1usize..50,
    ) {
        let bytes: Vec<u8> =
            frames.iter().flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload)).collect();
        let whole = read_all(&mut server(), &bytes);
        let (mut split, mut kept, mut events) = (server(), Vec::new(), Vec::new());
        let mut outcome = Ok(());
        'input: for piece in bytes.chunks(cut) {
            kept.extend_from_slice(piece);
            loop {
                let used = match split.read(&kept) {
                    Ok(Some((used, event))) => {
                        events.push(format!("{event:?}"));
                        used
                    }
                    Ok(None) => break,
                    Err(error) => {
                        outcome = Err(error);
                        break 'input;
                    }
                };
                kept.drain(..used);
            }
        }
        match whole {
            Ok(whole) => {
                prop_assert_eq!(events, whole.iter().map(|event| format!("{event:?}")).collect::<Vec<_>>());
                prop_assert_eq!(outcome, Ok(()));
            }
            Err(error) => prop_assert_eq!(outcome, Err(error)),
        }
    }
}
