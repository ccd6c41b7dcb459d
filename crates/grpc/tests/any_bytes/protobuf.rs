//! Fields and texts, judged by prost.
#![allow(clippy::expect_used, reason = "tests and their helpers")]

use assay_grpc::fields::{Fields, Value, text as text_of, write_text};
use assay_model::message;
use proptest::prelude::*;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};

/// A message with a field of each kind. What prost derives is written by hand: its macros would take longer to compile than all of it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Every {
    text: String,
    number: u64,
    eight: u64,
    four: u32,
    /// For prost a message with bytes in field 1 (`google.protobuf.BytesValue`).
    inner: Option<Vec<u8>>,
    signed: i64,
}

impl Message for Every {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if !self.text.is_empty() {
            encoding::string::encode(1, &self.text, buf);
        }
        if self.number != 0 {
            encoding::uint64::encode(2, &self.number, buf);
        }
        if self.eight != 0 {
            encoding::fixed64::encode(3, &self.eight, buf);
        }
        if let Some(inner) = &self.inner {
            encoding::message::encode(5, inner, buf);
        }
        if self.signed != 0 {
            encoding::int64::encode(6, &self.signed, buf);
        }
        if self.four != 0 {
            encoding::fixed32::encode(400, &self.four, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => encoding::string::merge(wire, &mut self.text, buf, context),
            2 => encoding::uint64::merge(wire, &mut self.number, buf, context),
            3 => encoding::fixed64::merge(wire, &mut self.eight, buf, context),
            5 => encoding::message::merge(wire, self.inner.get_or_insert_default(), buf, context),
            6 => encoding::int64::merge(wire, &mut self.signed, buf, context),
            400 => encoding::fixed32::merge(wire, &mut self.four, buf, context),
            _ => encoding::skip_field(wire, tag, buf, context),
        }
    }

    fn encoded_len(&self) -> usize {
        let mut out = Vec::new();
        self.encode_raw(&mut out);
        out.len()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

fn encoded(written: &str) -> Vec<u8> {
    let mut out = Vec::new();
    message::encode(written, &mut out).expect(written);
    out
}

#[test]
fn a_text_becomes_the_bytes_that_prost_makes() {
    let inner = Some(vec![0, 0xff, b'"', b'\\', b'\n']);
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
