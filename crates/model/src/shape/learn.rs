//! Shapes of texts that were seen: what JSON looks like when only its values vary.

use std::fmt;

use serde_json::Value;

use super::{MAX_KEYS, Rule, Shape};

/// Lists and objects inside each other that are told apart; deeper down anything is right.
const MAX_DEPTH: u32 = 16;

impl Shape {
    /// The shape of one text: the types of its values, and the keys of its objects in order. `None` where it is no JSON.
    pub fn of(text: &[u8]) -> Option<Self> {
        let value = serde_json::from_slice(text).ok()?;
        Some(Self(rule_of(&value, MAX_DEPTH)))
    }

    /// The shape that all texts of either have.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self(join(self.0, other.0))
    }

    /// Whether texts of both may come from the same source: the same types, and of each object at least half of the keys. What may be
    /// anything resembles everything.
    pub fn resembles(&self, other: &Self) -> bool {
        resemble(&self.0, &other.0)
    }

    /// Whether nothing is demanded.
    pub fn is_any(&self) -> bool {
        self.0 == Rule::Any
    }
}

/// What is null may be something else another time, so it is anything. So are the elements of a list without any.
fn rule_of(value: &Value, depth: u32) -> Rule {
    match value {
        Value::Null => Rule::Any,
        Value::Bool(_) => Rule::Boolean(None),
        Value::Number(_) => Rule::Number(None),
        Value::String(_) => Rule::Text(None),
        Value::Array(_) | Value::Object(_) if depth == 0 => Rule::Any,
        Value::Array(elements) => {
            let rules = elements.iter().map(|element| rule_of(element, depth - 1));
            let each = Box::new(rules.reduce(join).unwrap_or(Rule::Any));
            Rule::List { count: 0..=u64::MAX, each }
        }
        Value::Object(members) if members.len() > MAX_KEYS => Rule::Any,
        Value::Object(members) => {
            let mut fields: Vec<(String, Rule)> =
                members.iter().map(|(key, value)| (key.clone(), rule_of(value, depth - 1))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Rule::Object { fields, is_open: false }
        }
    }
}

fn join(one: Rule, other: Rule) -> Rule {
    match (one, other) {
        (one, other) if one == other => one,
        (Rule::List { each: one, .. }, Rule::List { each: other, .. }) => {
            Rule::List { count: 0..=u64::MAX, each: Box::new(join(*one, *other)) }
        }
        (Rule::Object { fields: one, is_open: a }, Rule::Object { fields: other, is_open: b }) => {
            join_objects(one, other, a || b)
        }
        _ => Rule::Any,
    }
}

fn resemble(one: &Rule, other: &Rule) -> bool {
    match (one, other) {
        (Rule::Any, _) | (_, Rule::Any) => true,
        (Rule::List { each: one, .. }, Rule::List { each: other, .. }) => resemble(one, other),
        (Rule::Object { fields: one, .. }, Rule::Object { fields: other, .. }) => {
            let is_common = |(key, rule): &&(String, Rule)| {
                other.iter().any(|(known, other)| known == key && resemble(rule, other))
            };
            2 * one.iter().filter(is_common).count() >= one.len().max(other.len())
        }
        _ => one == other,
    }
}

/// The keys that both have; others may come where one of them has others.
fn join_objects(one: Vec<(String, Rule)>, mut other: Vec<(String, Rule)>, is_open: bool) -> Rule {
    let keys = one.len().max(other.len());
    let in_both = one.into_iter().filter_map(|(key, rule)| {
        let at = other.iter().position(|(known, _)| *known == key)?;
        Some((key, join(rule, other.swap_remove(at).1)))
    });
    let fields: Vec<(String, Rule)> = in_both.collect();
    let is_open = is_open || fields.len() < keys;
    Rule::Object { fields, is_open }
}

/// A shape as people write it.
impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => out.write_str("any"),
            Self::Null => out.write_str("null"),
            Self::Boolean(None) => out.write_str("boolean"),
            Self::Boolean(Some(value)) => write!(out, "{value}"),
            Self::Text(None) => out.write_str("string"),
            Self::Text(Some(text)) => write!(out, "{}", Value::from(text.as_str())),
            Self::Number(None) => out.write_str("number"),
            Self::Number(Some(value)) => write!(out, "{value}"),
            Self::Integer(range) if *range == (i64::MIN..=i64::MAX) => out.write_str("integer"),
            Self::Integer(range) => write!(out, "{}..{}", range.start(), range.end()),
            Self::Tuple(rules) => {
                out.write_str("[")?;
                list(out, rules.iter().map(|rule| (None, rule)))?;
                out.write_str("]")
            }
            Self::List { count, each } if *count == (0..=u64::MAX) => write!(out, "[any * {each}]"),
            Self::List { count, each } => write!(out, "[{}..{} * {each}]", count.start(), count.end()),
            Self::Object { fields, is_open } => {
                out.write_str("{")?;
                list(out, fields.iter().map(|(key, rule)| (Some(key.as_str()), rule)))?;
                let dots = if fields.is_empty() { "..." } else { ", ..." };
                out.write_str(if *is_open { dots } else { "" })?;
                out.write_str("}")
            }
        }
    }
}

fn list<'r>(
    out: &mut fmt::Formatter<'_>,
    rules: impl Iterator<Item = (Option<&'r str>, &'r Rule)>,
) -> fmt::Result {
    for (index, (key, rule)) in rules.enumerate() {
        out.write_str(if index == 0 { "" } else { ", " })?;
        if let Some(key) = key {
            write!(out, "{}: ", Value::from(key))?;
        }
        write!(out, "{rule}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(texts: &[&str]) -> Shape {
        let shapes = texts.iter().map(|text| Shape::of(text.as_bytes()).expect("JSON"));
        shapes.reduce(Shape::joined).expect("some")
    }

    #[test]
    fn a_shape_is_learnt_from_texts_and_accepts_others_like_them() {
        for (texts, shape, like, unlike) in [
            (&[r#"{"n":1,"at":"x"}"#][..], r#"{"at": string, "n": number}"#, r#"{"at":"","n":2.5}"#, "{}"),
            (&["[1]", "[]"], "[any * any]", "[null,{}]", "{}"),
            (&[r#"[{"a":1},{"a":2}]"#], r#"[any * {"a": number}]"#, "[]", r#"[{"a":"1"}]"#),
            (&[r#"{"a":1,"b":2}"#, r#"{"a":1}"#], r#"{"a": number, ...}"#, r#"{"c":1,"a":3}"#, "{}"),
            (&[r#"{"a":1}"#, r#"{"b":1}"#], "{...}", r#"{"c":1}"#, "[]"),
            (&[r#"{"a":null}"#, r#"{"a":"x"}"#], r#"{"a": any}"#, r#"{"a":1}"#, "{}"),
            (&["\"x\""], "string", "\"y\"", "1"),
            (&["true", "false"], "boolean", "true", "1"),
            (&[r#"{"k\"\u00e9y":{}}"#], r#"{"k\"éy": {}}"#, r#"{"k\"éy":{}}"#, r#"{"k\"éy":{"z":1}}"#),
        ] {
            let found = learnt(texts);
            assert_eq!(found.to_string(), shape);
            let read: Shape = shape.parse().expect(shape);
            assert_eq!(read, found, "{shape}");
            assert!(texts.iter().all(|text| found.matches(text.as_bytes())), "{shape}");
            assert!(found.matches(like.as_bytes()) && !found.matches(unlike.as_bytes()), "{shape}");
        }
        assert!(learnt(&["1", "\"x\""]).is_any());
        assert_eq!(Shape::of(b"database is down"), None);
    }

    #[test]
    fn texts_of_one_source_resemble_each_other() {
        for (one, other, expected) in [
            (r#"{"rows":[1]}"#, r#"{"rows":[]}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, true),
            (r#"{"a":null}"#, r#"{"a":[]}"#, true),
            (r#"{"rows":[1]}"#, r#"{"error":"down"}"#, false),
            (r#"{"a":1,"b":2}"#, r#"{"a":"x"}"#, false),
            ("[1]", "[\"x\"]", false),
            ("[]", "{}", false),
        ] {
            assert_eq!(learnt(&[one]).resembles(&learnt(&[other])), expected, "{one} {other}");
        }
    }

    #[test]
    fn what_is_deep_or_wide_is_anything() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(learnt(&[&deep]).matches(deep.as_bytes()));
        let wide: Vec<String> = (0..100).map(|n| format!("\"{n}\":1")).collect();
        assert!(learnt(&[&format!("{{{}}}", wide.join(","))]).is_any());
    }

    #[test]
    fn every_rule_is_written_as_it_is_read() {
        for text in [r#"{"id": 1..9, "x": [1, "a"], ...}"#, "[20..20 * null]", "integer", "[1..5 * true]"] {
            let shape: Shape = text.parse().expect(text);
            assert_eq!(shape.to_string(), text);
        }
    }
}
