//! Fields and texts, judged by prost.
#![allow(clippy::expect_used, reason = "tests and their helpers")]

use assay_grpc::fields::{Fields, Value, text as text_of, write_text};
use assay_model::message;
use proptest::prelude::*;
use prost::Message;

/// A message with a field of each kind.
#[derive(Clone, PartialEq, Message)]
struct Every {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(uint64, tag = "2")]
    number: u64,
    #[prost(fixed64, tag = "3")]
    eight: u64,
    #[prost(fixed32, tag = "400")]
    four: u32,
    #[prost(message, optional, tag = "5")]
    inner: Option<Inner>,
    #[prost(int64, tag = "6")]
    signed: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Inner {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}

fn encoded(written: &str) -> Vec<u8> {
    let mut out = Vec::new();
    message::encode(written, &mut out).expect(written);
    out
}

#[test]
fn a_text_becomes_the_bytes_that_prost_makes() {
    let inner = Some(Inner { bytes: vec![0, 0xff, b'"', b'\\', b'\n'] });
    let every = Every { text: "héllo".into(), number: 300, eight: 1, four: 2, inner, signed: -1 };
    let written = r#"
        1: "héllo"
        2: 300
        3: 0x0000000000000001
        5 { 1: "\000\377\"\\\n" }   # as protoc --decode_raw prints it
        6: -1
        400: 0x00000002
    "#;
    let bytes = encoded(written);
    assert_eq!(Every::decode(&*bytes).expect("prost"), every);
    let mut same = every.encode_to_vec();
    same.sort_unstable();
    let mut sorted = bytes;
    sorted.sort_unstable();
    assert_eq!(sorted, same, "in another order, byte for byte");
}

#[test]
fn what_is_no_text_of_a_message_is_told_with_its_place() {
    for (written, words) in [
        ("1: ", "byte 3: a value is missing"),
        ("0: 1", "byte 0: a field's number is 1 to 536870911"),
        ("1 2", "byte 2: `:` or `{` belongs behind a field's number"),
        ("1: \"a", "byte 3: a text without its end"),
        ("1: \"\\q\"", "byte 4: an escape that means nothing"),
        ("1: \"\\400\"", "byte 4: an escape that means nothing"),
        ("1 { 2: 3", "byte 2: `{` without its `}`"),
        ("1: 2 }", "byte 5: `}` without its `{`"),
        ("1: 18446744073709551616", "byte 3: a number that does not fit 64 bits"),
        ("x", "byte 0: a field's number is missing"),
        ("1: 0x12", "byte 3: a fixed number has 8 or 16 digits behind its 0x"),
    ] {
        let error = message::encode(written, &mut Vec::new()).expect_err(written).to_string();
        assert!(error.starts_with(words), "{written}: {error}");
    }
    let deep = "1 {".repeat(200) + &"}".repeat(200);
    assert!(message::encode(&deep, &mut Vec::new()).expect_err("deep").to_string().contains("deep"));
}

proptest! {
    #[test]
    fn what_prost_writes_is_read_field_by_field(words in ".{0,40}", number in 1u64.., eight in 1u64.., four in 1u32..) {
        let every = Every { text: words.clone(), number, eight, four, ..Every::default() };
        let bytes = every.encode_to_vec();
        let fields: Vec<_> = Fields::of(&bytes).map(|field| field.expect("a field")).collect();
        let mut wanted = vec![
            (1, Value::Bytes(words.as_bytes())),
            (2, Value::Varint(number)),
            (3, Value::Fixed64(eight)),
            (400, Value::Fixed32(four)),
        ];
        if words.is_empty() {
            wanted.remove(0);
        }
        prop_assert_eq!(fields, wanted);
        prop_assert_eq!(text_of(&bytes, 1).expect("a text"), words);
    }

    #[test]
    fn prost_takes_whatever_is_taken_here(bytes: Vec<u8>) {
        let ours = Fields::of(&bytes).collect::<Result<Vec<_>, _>>();
        // It refuses a known field of another type, and texts that are none, where we tell of fields alone.
        if let (Ok(every), true) = (Every::decode(&*bytes), ours.is_ok()) {
            prop_assert_eq!(text_of(&bytes, 1).expect("a text"), every.text);
        }
    }

    #[test]
    fn a_text_field_is_written_as_prost_writes_it(words in ".{0,200}") {
        let mut ours = Vec::new();
        write_text(1, &words, &mut ours);
        prop_assert_eq!(ours, Every { text: words, ..Every::default() }.encode_to_vec());
    }

    #[test]
    fn any_bytes_come_back_from_their_literal(bytes: Vec<u8>) {
        prop_assert_eq!(encoded(&message::literal(&bytes)), bytes);
    }

    #[test]
    fn no_text_makes_it_panic(written in "[0-9a-fx:{}\"\\\\ #\n-]{0,60}") {
        let _ = message::encode(&written, &mut Vec::new());
    }
}
