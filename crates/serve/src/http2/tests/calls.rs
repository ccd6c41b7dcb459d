//! Calls of gRPC: what is answered, and which status is told where nothing is.

use super::*;
use assay_grpc::message;
use assay_model::message as text;

const POST: (&str, &str) = (":method", "POST");
const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// A message of this text, in its frame.
fn framed(written: &str) -> Vec<u8> {
    let (mut message, mut framed) = (Vec::new(), Vec::new());
    text::encode(written, &mut message).unwrap();
    message::frame(&message, &mut framed);
    framed
}

impl Wire {
    /// Calls a procedure with this body.
    fn call(&mut self, stream: u32, path: &str, others: &[(&str, &str)], body: &[u8]) {
        let fields = [&[POST, HTTP, HOST, (":path", path), GRPC, ("te", "trailers")], others].concat();
        self.ask(stream, &fields, false);
        self.data(stream, body, true);
    }

    /// The last block of a stream: its trailers, or the head that is all.
    fn tail(&self, stream: u32) -> &str {
        self.heads.iter().rfind(|(id, _)| *id == stream).map_or("", |(_, text)| text)
    }
}

#[test]
fn a_text_is_given_back_or_greeted_and_trailers_tell_the_status() {
    let mut wire = Wire::new(ServeLimits::default());
    wire.call(1, "/assay.Echo/Say", &[], &framed("1: \"hello\""));
    wire.call(3, "/assay.Echo/Say", &[("grpc-timeout", "1S")], &framed(""));
    wire.call(5, "/assay.Echo/Hello", &[], &framed("2: 7 1: \"you\""));
    wire.call(7, "/assay.Echo/Hello", &[("grpc-encoding", "identity")], &framed(""));
    wire.deliver();
    assert_eq!(wire.head(1), ":status=200;content-type=application/grpc;");
    for (stream, reply) in
        [(1, "1: \"hello\""), (3, ""), (5, "1: \"Hello, you!\""), (7, "1: \"Hello, World!\"")]
    {
        assert_eq!(wire.body(stream), framed(reply), "{stream}");
        assert_eq!(wire.tail(stream), "grpc-status=0;", "{stream}");
    }
    wire.ended.sort_unstable();
    assert_eq!((&*wire.ended, wire.site.requests, wire.resets.len()), (&[1, 3, 5, 7][..], 4, 0));
}

#[test]
fn what_is_no_call_of_the_service_is_told_with_its_status_alone() {
    let limits = ServeLimits { message_bytes: 100, ..ServeLimits::default() };
    let say = "/assay.Echo/Say";
    let hello = framed("1: \"hello\"");
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [u8], &'c str);
    let cases: [Case<'_>; 10] = [
        ("/assay.Echo/Shout", &[], &hello, "12;grpc-message=there is assay.Echo, with Say and Hello;"),
        ("/", &[], &hello, "12;"),
        (say, &[], b"", "12;grpc-message=no message;"),
        (say, &[], &[hello.clone(), hello.clone()].concat(), "12;grpc-message=bytes behind"),
        (
            say,
            &[("grpc-encoding", "gzip")],
            b"\x01\0\0\0\0",
            "12;grpc-message=messages are taken as they are",
        ),
        (say, &[], b"\x01\0\0\0\0", "13;grpc-message=a compressed message"),
        (say, &[], b"\0\0\0\0\x05ab", "13;grpc-message=the body ends 3 bytes"),
        (say, &[], b"\0\0\0\0\x02ab", "13;grpc-message=no message of Protocol Buffers;"),
        (say, &[], b"\0\0\0\0\x03\x0a\x01\xff", "13;"),
        (say, &[("grpc-timeout", "soon")], &hello, "13;grpc-message=grpc-timeout is no time;"),
    ];
    for (path, others, body, status) in cases {
        let mut wire = Wire::new(limits);
        wire.call(1, path, others, body);
        wire.deliver();
        let start = format!(":status=200;content-type=application/grpc;grpc-status={status}");
        assert!(wire.head(1).starts_with(&start), "{path} {body:?}: {}", wire.head(1));
        assert_eq!((wire.heads.len(), &*wire.ended, wire.resets.len()), (1, &[1][..], 0));
    }
    let mut wire = Wire::new(limits);
    wire.call(1, say, &[], &[0, 0, 0, 0, 101]);
    wire.ask(3, &[POST, HTTP, HOST, (":path", say), GRPC], true);
    wire.ask(5, &[GET, HTTP, HOST, (":path", say), GRPC], true);
    wire.deliver();
    assert!(wire.head(1).contains("grpc-status=8;grpc-message=a message of 101 bytes"), "{}", wire.head(1));
    assert!(wire.head(3).contains("grpc-status=12;grpc-message=no message;"), "{}", wire.head(3));
    assert!(wire.head(5).starts_with(":status=405;"), "{}", wire.head(5));
}

#[test]
fn a_long_reply_waits_for_its_window_and_its_trailers_with_it() {
    let mut wire = Wire::new(ServeLimits::default());
    let long = framed(&format!("1: \"{}\"", "x".repeat(100_000)));
    wire.ask(1, &[POST, HTTP, HOST, (":path", "/assay.Echo/Say"), GRPC], false);
    for piece in long.chunks(10_000) {
        wire.data(1, piece, false);
        wire.deliver();
    }
    wire.data(1, b"", true);
    wire.deliver();
    assert_eq!((wire.body(1).len(), wire.tail(1)), (65_535, wire.head(1)));
    write_window_update(1, 1 << 20, wire.client.out());
    write_window_update(0, 1 << 20, wire.client.out());
    wire.deliver();
    assert!(wire.body(1) == long);
    assert_eq!((wire.tail(1), &*wire.ended), ("grpc-status=0;", &[1][..]));
}
