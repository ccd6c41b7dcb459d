//! Calls of gRPC: each way in which one can fail has its class, and leaves the others.

use super::*;
use assay_grpc::message;
use assay_model::message as text;

/// What is answered where nothing is wrong.
const REPLY: &str = "1: \"ok\"";

fn calls() -> Both {
    let expect = Expect { body: Some(REPLY.into()), ..Expect::default() };
    let kind = RequestKind { body: Some("1: \"hi\"".into()), expect, ..RequestKind::get("/a.B/C") };
    Both::asking(kind, true, Settings::default())
}

/// A message of this text, in its frame.
fn framed(written: &str) -> Vec<u8> {
    let (mut message, mut framed) = (Vec::new(), Vec::new());
    text::encode(written, &mut message).unwrap();
    message::frame(&message, &mut framed);
    framed
}

impl Both {
    /// An answer of one message and trailers.
    fn reply(&mut self, stream: u32, body: &[u8], trailers: &[(&str, &str)]) {
        self.head(stream, &[OK, TYPE], false);
        self.data(stream, body, false);
        self.head(stream, trailers, true);
    }

    /// The only failure, with its words.
    fn failure(&self) -> (Vec<(ErrorClass, u64)>, String) {
        let samples = &self.session.recorder.samples;
        (self.outcomes().1, samples.first().map_or_else(String::new, |sample| sample.detail.clone()))
    }
}

const TYPE: (&str, &str) = ("content-type", "application/grpc+proto");
const DONE: (&str, &str) = ("grpc-status", "0");

#[test]
fn a_message_with_status_ok_is_right_however_its_body_is_cut() {
    let mut both = calls();
    assert_eq!(both.issue(10), [1, 3, 5, 7]);
    assert_eq!(both.bytes, 4 * framed("1: \"hi\"").len());
    both.reply(1, &framed(REPLY), &[DONE]);
    both.head(3, &[OK, TYPE], false);
    framed(REPLY).iter().for_each(|byte| both.data(3, &[*byte], false));
    both.head(3, &[DONE, ("grpc-message", "")], true);
    assert_eq!(both.deliver(20), Fate::Keep);
    assert_eq!(both.outcomes(), (2, vec![]));
    assert_eq!((both.issue(20), both.session.in_flight()), (vec![9, 11], 4));
}

/// A way to answer a call, the class of its fault, and words for it.
type Way = (fn(&mut Both), ErrorClass, &'static str);

const WAYS: [Way; 14] = [
    (|both| both.reply(1, &framed("1: \"no\""), &[DONE]), ErrorClass::WrongBody, "a certain body of 4 bytes"),
    (|both| both.reply(1, &framed("1: \"oh!\""), &[DONE]), ErrorClass::WrongLength, "5 bytes"),
    (
        |both| both.head(1, &[OK, TYPE, ("grpc-status", "12"), ("grpc-message", "no%20C")], true),
        ErrorClass::RpcStatus,
        "12 UNIMPLEMENTED: no C",
    ),
    (|both| both.reply(1, &framed(REPLY), &[("grpc-status", "13")]), ErrorClass::RpcStatus, "13 INTERNAL"),
    (|both| both.head(1, &[OK, TYPE, DONE], true), ErrorClass::RpcNoMessage, "no message"),
    (|both| both.reply(1, &framed(REPLY), &[("x", "y")]), ErrorClass::RpcNoStatus, "without grpc-status"),
    (
        |both| both.reply(1, &framed(REPLY), &[("grpc-status", "OK")]),
        ErrorClass::RpcNoStatus,
        "`OK`, no number",
    ),
    (
        |both| {
            both.head(1, &[OK, TYPE], false);
            both.data(1, &framed(REPLY), true);
        },
        ErrorClass::RpcNoStatus,
        "without grpc-status",
    ),
    (
        |both| {
            both.head(1, &[OK, TYPE, DONE], false);
            both.data(1, &framed(REPLY), true);
        },
        ErrorClass::RpcNoStatus,
        "without grpc-status",
    ),
    (
        |both| {
            both.head(1, &[OK, TYPE, DONE, ("grpc-message", "early")], false);
            both.data(1, &framed(REPLY), false);
            both.head(1, &[("x", "y")], true);
        },
        ErrorClass::RpcNoStatus,
        "without grpc-status",
    ),
    (|both| both.reply(1, b"\0\0\0\0\x09abc", &[DONE]), ErrorClass::RpcBadFrame, "6 bytes before"),
    (|both| both.reply(1, b"\x01\0\0\0\x01a", &[DONE]), ErrorClass::RpcCompressed, "no coding was agreed on"),
    (
        |both| both.head(1, &[OK, ("content-type", "text/html")], true),
        ErrorClass::WrongHeader,
        "got `text/html`",
    ),
    (|both| both.head(1, &[(":status", "503"), TYPE], true), ErrorClass::UnexpectedStatus, "status 503"),
];

#[test]
fn each_fault_of_a_call_has_its_class_and_its_words() {
    for (answer, class, words) in WAYS {
        let mut both = calls();
        both.issue(10);
        answer(&mut both);
        both.reply(3, &framed(REPLY), &[DONE]);
        assert_eq!(both.deliver(20), Fate::Keep);
        let (failures, told) = both.failure();
        assert_eq!((both.outcomes().0, failures), (1, vec![(class, 1)]), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_reset_is_told_with_how_far_the_answer_had_come() {
    let mut both = calls();
    both.issue(10);
    both.head(1, &[OK, TYPE], false);
    both.data(1, &framed(REPLY), false);
    write_reset(1, Code::Cancel.number(), both.server.out());
    assert_eq!(both.deliver(20), Fate::Keep);
    let (failures, told) = both.failure();
    assert_eq!(failures, [(ErrorClass::StreamReset, 1)]);
    assert!(told.contains("CANCEL behind its message"), "{told}");
}

#[test]
fn a_reply_may_repeat_numbers_of_its_call() {
    let expect = Expect { body: Some("1: \"${n}\"".into()), ..Expect::default() };
    let body = Some("1: \"${n=sequence:99}\"".into());
    let kind = RequestKind { body, expect, ..RequestKind::get("/a.B/C") };
    let mut both = Both::asking(kind, true, Settings::default());
    both.issue(10);
    both.reply(3, &framed("1: \"100\""), &[DONE]);
    both.reply(1, &framed("1: \"99\""), &[DONE]);
    both.reply(5, &framed("1: \"99\""), &[DONE]);
    both.deliver(20);
    assert_eq!(both.outcomes(), (2, vec![(ErrorClass::WrongLength, 1)]));
}

#[test]
fn a_text_that_is_no_message_is_refused_with_its_place() {
    let refused = |body: &str, expect: Expect| {
        let kind = RequestKind { body: Some(body.into()), expect, ..RequestKind::get("/a.B/C") };
        let plan = LoadPlan {
            http: Http::Two,
            grpc: true,
            ..LoadPlan::new(([127, 0, 0, 1], 80).into(), vec![kind])
        };
        plan.check().unwrap_err().to_string()
    };
    let told = refused("1: \"a", Expect::default());
    assert!(told.contains("the call /a.B/C: body, at byte 3: a text without its end"), "{told}");
    let told = refused("", Expect { body: Some("x".into()), ..Expect::default() });
    assert!(told.contains("the call /a.B/C: expect.body, at byte 0"), "{told}");
    let told = refused("", Expect { json: Some("1".into()), ..Expect::default() });
    assert!(told.contains("expect.json is for texts"), "{told}");
}
