//! Whether an answer is the right one: the strict check before any load.

use std::borrow::Cow;

use assay_http::Framing;
use assay_http::coding::gunzip;
use assay_model::html::Page;
use assay_model::message;
use assay_model::shape::Shape;
use assay_model::workload::Expect;

/// Most characters of a wrong body that are shown.
const SHOWN_CHARS: usize = 64;

/// Most bytes to which a coded body may inflate: as many as the generator looks at.
const MAX_INFLATED_BYTES: usize = 1 << 20;

/// A complete answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Response {
    /// Status code.
    pub(crate) status: u16,
    /// Value of Content-Type.
    pub(crate) content_type: Option<String>,
    /// Value of Content-Encoding.
    pub(crate) content_encoding: Option<String>,
    /// Value of Location.
    pub(crate) location: Option<String>,
    /// How the body's end was told.
    pub(crate) framing: Option<Framing>,
    /// Body without its framing.
    pub(crate) body: Vec<u8>,
    /// Whether that is a message of Protocol Buffers, and an expected one is written as the text of one.
    pub(crate) is_message: bool,
}

/// What is wrong with an answer, in words; `None` when it is right.
pub(crate) fn fault(expect: &Expect, answer: &Response) -> Option<String> {
    wrong_status(expect, answer.status).or_else(|| wrong_type(expect, answer)).or_else(|| {
        match plain(expect, answer) {
            Ok(plain) => wrong_body(expect, &plain),
            Err(why) => Some(why),
        }
    })
}

/// The answer as it was before its body was coded, where that is expected.
fn plain<'a>(expect: &Expect, answer: &'a Response) -> Result<Cow<'a, Response>, String> {
    let Some(coding) = expect.coding else { return Ok(Cow::Borrowed(answer)) };
    let named = answer.content_encoding.as_deref().unwrap_or_default();
    if !coding.is_named(named.as_bytes()) {
        let given = if named.is_empty() {
            "no Content-Encoding".to_owned()
        } else {
            format!("Content-Encoding {named}")
        };
        return Err(format!("{given} instead of {coding}"));
    }
    let body = gunzip(&answer.body, MAX_INFLATED_BYTES).map_err(|error| error.to_string())?;
    Ok(Cow::Owned(Response { body, ..answer.clone() }))
}

fn wrong_status(expect: &Expect, status: u16) -> Option<String> {
    match expect.status {
        Some(wanted) if wanted != status => Some(format!("status {status} instead of {wanted}")),
        None if !(200..=299).contains(&status) => Some(format!("status {status} instead of 2xx")),
        _ => None,
    }
}

/// Media types are compared without parameters and case (RFC 9110 §8.3.1).
fn wrong_type(expect: &Expect, answer: &Response) -> Option<String> {
    let wanted = expect.content_type.as_deref()?;
    let Some(given) = answer.content_type.as_deref() else {
        return Some(format!("no Content-Type instead of {wanted}"));
    };
    let bare = media_type(given);
    (!bare.eq_ignore_ascii_case(wanted)).then(|| format!("Content-Type {bare} instead of {wanted}"))
}

/// A media type without its parameters.
pub(super) fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or(value).trim()
}

fn wrong_body(expect: &Expect, answer: &Response) -> Option<String> {
    let length = answer.body.len() as u64;
    if let Some([least, greatest]) = expect.length.filter(|[least, most]| !(*least..=*most).contains(&length))
    {
        return Some(format!("a body of {length} bytes instead of {least} to {greatest}"));
    }
    if let Some(text) = &expect.contains {
        let found = answer.body.windows(text.len().max(1)).any(|window| window == text.as_bytes());
        return (!found).then(|| format!("body {} without {text:?}", shown(&answer.body)));
    }
    if let Some(text) = &expect.shape {
        let right = text.parse::<Shape>().is_ok_and(|shape| shape.matches(&answer.body));
        return (!right).then(|| format!("body {} that is not of the shape {text}", shown(&answer.body)));
    }
    if let Some(html) = &expect.html {
        let given = String::from_utf8_lossy(&answer.body);
        let difference = Page::read(html).and_then(|page| page.difference(&given));
        return difference.map(|(given, wanted)| format!("a page with {given} instead of {wanted}"));
    }
    if let Some(wanted) = &expect.body {
        let wanted = if answer.is_message { message_of(wanted) } else { wanted.as_bytes().into() };
        let wrong = answer.body != *wanted;
        return wrong.then(|| format!("body {} instead of {}", shown(&answer.body), shown(&wanted)));
    }
    let wanted = expect.json.as_deref()?;
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes);
    match value(&answer.body) {
        Err(error) => Some(format!("a body that is no JSON ({error}): {}", shown(&answer.body))),
        Ok(given) if value(wanted.as_bytes()).ok().as_ref() == Some(&given) => None,
        Ok(_) => Some(format!("JSON {} instead of {}", shown(&answer.body), shown(wanted.as_bytes()))),
    }
}

/// The message that a text stands for; whether it stands for one was asked when its workload was read.
fn message_of(text: &str) -> Cow<'_, [u8]> {
    let mut message = Vec::new();
    drop(message::encode(text, &mut message));
    message.into()
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let start: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if start.len() < text.len() { format!(" … ({} bytes)", bytes.len()) } else { String::new() };
    format!("{start:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, content_type: &str, body: &str) -> Response {
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        Response { status, content_type, body: body.as_bytes().to_vec(), ..Response::default() }
    }

    fn expect(toml: &str) -> Expect {
        toml::from_str(toml).expect("expectation")
    }

    #[test]
    fn right_answers() {
        for (wanted, given) in [
            ("", answer(204, "", "")),
            ("status = 404", answer(404, "", "x")),
            ("body = 'hello'", answer(200, "", "hello")),
            ("content_type = 'text/plain'", answer(200, "Text/Plain; charset=utf-8", "")),
            ("contains = 'ell'\nlength = [5, 9]", answer(200, "", "hello")),
            ("shape = '[2 * 1..9]'", answer(200, "", "[1, 9]")),
            ("html = '<p>&lt;</p>'", answer(200, "", "<p>&#60;</p>\n")),
            (r#"json = '{"a": 1, "b": [true]}'"#, answer(200, "", " {\"b\":[true],\"a\":1}\n")),
        ] {
            assert_eq!(fault(&expect(wanted), &given), None, "{wanted}");
        }
    }

    #[test]
    fn wrong_answers_say_what_and_what_instead() {
        for (wanted, given, words) in [
            ("", answer(500, "", ""), "status 500 instead of 2xx"),
            ("status = 200", answer(201, "", ""), "status 201 instead of 200"),
            ("body = 'hello'", answer(200, "", "hello\n"), r#"body "hello\n" instead of "hello""#),
            (
                "content_type = 'text/plain'",
                answer(200, "text/html", ""),
                "Content-Type text/html instead of text/plain",
            ),
            ("content_type = 'text/plain'", answer(200, "", ""), "no Content-Type instead of text/plain"),
            ("contains = 'elk'", answer(200, "", "hello"), r#"body "hello" without "elk""#),
            ("length = [6, 9]", answer(200, "", "hello"), "a body of 5 bytes instead of 6 to 9"),
            ("shape = '1..9'", answer(200, "", "0"), r#"body "0" that is not of the shape 1..9"#),
            ("html = '<p>a</p>'", answer(200, "", "<p>b</p>"), "a page with `b` instead of `a`"),
            ("json = '1'", answer(200, "", "2"), r#"JSON "2" instead of "1""#),
        ] {
            assert_eq!(fault(&expect(wanted), &given).as_deref(), Some(words));
        }
        let coded = |encoding: &str, body: &[u8]| Response {
            content_encoding: Some(encoding.to_owned()),
            body: body.to_vec(),
            ..answer(200, "", "")
        };
        let told = |given: &Response| fault(&expect("json = '1'\ncoding = 'gzip'"), given).expect("wrong");
        assert_eq!(told(&answer(200, "", "1")), "no Content-Encoding instead of gzip");
        assert_eq!(told(&coded("br", b"1")), "Content-Encoding br instead of gzip");
        assert!(told(&coded("gzip", b"1")).contains("does not decompress"));
        let no_json = fault(&expect("json = '1'"), &answer(200, "", "{")).expect("wrong");
        assert!(no_json.starts_with("a body that is no JSON"), "{no_json}");
        let long = fault(&expect("body = ''"), &answer(200, "", &"x".repeat(100))).expect("wrong");
        assert!(long.contains("… (100 bytes)"), "{long}");
    }
}
