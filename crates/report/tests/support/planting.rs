//! Hostile text planted into every string of a made-up document, and what no format may let through.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What is put before and behind every text.
pub(crate) const PLANTS: [[&str; 2]; 6] = [
    [
        "\u{1b}]0;t\u{7}\u{1b}[31m\u{9b}32m\0",
        "\u{202e}gnp\u{2066}\u{feff}\u{fffe}\u{2028}\r\nerror: \u{85}\u{7f}",
    ],
    ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)><!-- ]]> &lt; </title></svg>"],
    ["](javascript:alert(1)) ![i](x) ", " |a| `c` ``` ~~s~~ **b** _i_ $m$ \\"],
    ["=cmd|' /C calc'!A0;", ",\"\n=1\n---\n===\n# h\n- l\n> q\n    code\n"],
    ["\t@SUM(1)", "javascript:alert(1)"],
    ["# 1. - ", "} 1\n# EOF\n"],
];

/// Histograms are read, not shown; what is no histogram is an error that says so.
const ARE_DECODED: [&str; 3] = ["service_hdr", "response_hdr", "censored_hdr"];

/// A document, and where text can be planted.
pub(crate) struct Ground {
    document: Value,
    places: BTreeSet<String>,
    /// Places where there can be none, because what they hold is not text.
    pub(crate) refused: BTreeSet<String>,
}

impl Ground {
    /// Finds out once what holds for every text.
    pub(crate) fn of<T: Serialize + DeserializeOwned>(whole: &T) -> Self {
        let document = serde_json::to_value(whole).unwrap();
        let mut places = BTreeSet::new();
        list(&document, String::new(), &mut places);
        let mut ground = Self { document, places, refused: BTreeSet::new() };
        let all: Vec<String> = ground.places.iter().cloned().collect();
        ground.refused = refused(&all, &|some| T::deserialize(&ground.with(some, PLANTS[0])).is_ok());
        ground.places.retain(|place| !ground.refused.contains(place));
        ground
    }

    /// The document with hostile text wherever there can be any.
    pub(crate) fn planted<T: DeserializeOwned>(&self, plant: [&str; 2]) -> T {
        serde_json::from_value(self.with(&self.places, plant)).unwrap()
    }

    fn with(&self, places: &BTreeSet<String>, [before, behind]: [&str; 2]) -> Value {
        let mut document = self.document.clone();
        plant(&mut document, String::new(), places, &|text| format!("{before}{text}{behind}"));
        document
    }
}

/// The places at which no text may stand, by halves: few of many are refused, and a document takes its time to be read.
fn refused(places: &[String], is_taken: &dyn Fn(&BTreeSet<String>) -> bool) -> BTreeSet<String> {
    match places {
        [] => BTreeSet::new(),
        some if is_taken(&some.iter().cloned().collect()) => BTreeSet::new(),
        [one] => BTreeSet::from([one.clone()]),
        several => {
            let (one, other) = several.split_at(several.len() / 2);
            refused(one, is_taken).into_iter().chain(refused(other, is_taken)).collect()
        }
    }
}

/// Places of texts: their path, with a star for the elements of a list.
fn list(value: &Value, place: String, places: &mut BTreeSet<String>) {
    match value {
        // Of a rule that is not known nothing is kept but that.
        Value::String(_)
            if !ARE_DECODED.iter().any(|name| place.ends_with(name)) && !place.ends_with(".rule") =>
        {
            places.insert(place);
        }
        Value::Array(items) => items.iter().for_each(|item| list(item, format!("{place}.*"), places)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| list(field, below(&place, name), places))
        }
        _ => {}
    }
}

fn plant(value: &mut Value, place: String, wanted: &BTreeSet<String>, hostile: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) if wanted.contains(&place) => *text = hostile(text),
        Value::Array(items) => {
            items.iter_mut().for_each(|item| plant(item, format!("{place}.*"), wanted, hostile))
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                plant(field, below(&place, name), wanted, hostile);
            }
            if place.ends_with("versions") {
                *fields =
                    std::mem::take(fields).into_iter().map(|(name, field)| (hostile(&name), field)).collect();
            }
        }
        _ => {}
    }
}

fn below(place: &str, name: &str) -> String {
    if place.ends_with("versions") { format!("{place}.*") } else { format!("{place}.{name}") }
}

/// Nothing that steers a terminal or turns text around.
pub(crate) fn assert_tame(text: &str) {
    let acts = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || ['\u{feff}', '\u{fffe}', '\u{ffff}'].contains(c)
    };
    if let Some(at) = text.find(|c| acts(&c)) {
        let around: String = text[..at].chars().rev().take(40).collect::<String>().chars().rev().collect();
        panic!("{:?} behind {around:?}", text[at..].chars().next());
    }
}

/// Markdown without its words: every element that an independent parser sees.
pub(crate) fn skeleton_of_markdown(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser};
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH | Options::ENABLE_GFM;
    let events = Parser::new_ext(text, options).filter_map(|event| match event {
        Event::Text(_) | Event::SoftBreak => None,
        Event::Code(_) => Some("code".to_owned()),
        other => Some(format!("{other:?}")),
    });
    events.collect()
}

/// XML without its words: elements with the names of their attributes.
pub(crate) fn skeleton_of_xml(text: &str) -> Vec<String> {
    assert_tame(text);
    let document = roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let elements = document.descendants().filter(roxmltree::Node::is_element);
    let named = elements.map(|element| {
        let attributes: Vec<&str> = element.attributes().map(|attribute| attribute.name()).collect();
        format!("{} {}", element.tag_name().name(), attributes.join(" "))
    });
    named.collect()
}
