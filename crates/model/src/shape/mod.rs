//! The shape of a JSON text that differs from answer to answer: what is fixed, what may vary, and within which limits.
//!
//! A shape is written as JSON in which a value may be replaced by a rule:
//!
//! | rule | right is |
//! |---|---|
//! | `1..10000` | an integer from 1 to 10000 |
//! | `integer`, `number`, `string`, `boolean`, `any` | any value of that type |
//! | `[20 * RULE]`, `[1..500 * RULE]`, `[any * RULE]` | so many elements that all obey the rule |
//! | `{"key": RULE, ...}` | with the three dots: other keys too |
//!
//! Keys may come in any order, each once. All else is compared as JSON values.

mod json;
mod learn;
mod parse;

use std::ops::RangeInclusive;

use json::{Walk, says};

pub use parse::BadShape;

/// Keys of one object at most.
pub const MAX_KEYS: usize = 64;

/// What a JSON text must look like. Made by [`str::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Shape(Rule);

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Any,
    Null,
    Boolean(Option<bool>),
    Text(Option<String>),
    Number(Option<f64>),
    Integer(RangeInclusive<i64>),
    Tuple(Vec<Self>),
    List { count: RangeInclusive<u64>, each: Box<Self> },
    Object { fields: Vec<(String, Self)>, is_open: bool },
}

impl Shape {
    /// Whether `text` is JSON of this shape. Allocates nothing.
    pub fn matches(&self, text: &[u8]) -> bool {
        let mut walk = Walk::new(text);
        let right = std::str::from_utf8(text).is_ok() && self.0.pass(&mut walk).is_some();
        walk.space();
        right && walk.is_at_end()
    }
}

impl Rule {
    /// Passes a value that obeys the rule.
    #[inline]
    fn pass(&self, walk: &mut Walk<'_>) -> Option<()> {
        match self {
            Self::Any => walk.value(),
            Self::Null => walk.token("null"),
            Self::Boolean(None) => walk.token("true").or_else(|| walk.token("false")),
            Self::Boolean(Some(value)) => walk.token(if *value { "true" } else { "false" }),
            Self::Text(wanted) => {
                let token = walk.string()?;
                wanted.as_ref().is_none_or(|wanted| says(token, wanted)).then_some(())
            }
            Self::Number(wanted) => {
                let token = walk.number()?;
                wanted.is_none_or(|wanted| float(token) == Some(wanted)).then_some(())
            }
            Self::Integer(range) => range.contains(&integer(walk.number()?)?).then_some(()),
            Self::Tuple(rules) => {
                let mut rules = rules.iter();
                walk.list("[", "]", |walk| rules.next()?.pass(walk))?;
                rules.next().is_none().then_some(())
            }
            Self::List { count, each } => {
                let mut found = 0;
                walk.list("[", "]", |walk| {
                    found += 1;
                    each.pass(walk)
                })?;
                count.contains(&found).then_some(())
            }
            Self::Object { fields, is_open } => pass_object(walk, fields, *is_open),
        }
    }
}

#[inline]
fn pass_object(walk: &mut Walk<'_>, fields: &[(String, Rule)], is_open: bool) -> Option<()> {
    let mut seen = 0u64;
    let mut guess = 0;
    walk.list("{", "}", |walk| {
        let key = walk.string()?;
        walk.token(":")?;
        // Servers keep an order, mostly the obvious one: look at the next key first.
        let is = |&i: &usize| fields.get(i).is_some_and(|(name, _)| says(key, name));
        let Some(index) = Some(guess).filter(is).or_else(|| (0..fields.len()).find(is)) else {
            return if is_open { walk.value() } else { None };
        };
        guess = index + 1;
        let bit = 1 << index;
        let is_new = seen & bit == 0;
        seen |= bit;
        is_new.then(|| fields[index].1.pass(walk))?
    })?;
    (seen.count_ones() as usize == fields.len()).then_some(())
}

/// An integer that is written as one.
#[inline]
fn integer(token: &[u8]) -> Option<i64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

fn float(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(shape: &str, text: &str) -> bool {
        shape.parse::<Shape>().unwrap().matches(text.as_bytes())
    }

    const ROW: &str = r#"{"id": 1..10000, "randomNumber": 1..10000}"#;

    #[test]
    fn a_row_has_its_keys_in_any_order_and_within_their_limits() {
        for right in [
            r#"{"id":1,"randomNumber":10000}"#,
            "{\n \"randomNumber\" : 7 , \"id\" : 42 }\n",
            r#"{"\u0069d":3,"randomNumber":4}"#,
        ] {
            assert!(matches(ROW, right), "{right}");
        }
        for wrong in [
            r#"{"id":0,"randomNumber":1}"#,
            r#"{"id":10001,"randomNumber":1}"#,
            r#"{"id":"1","randomNumber":1}"#,
            r#"{"id":1.0,"randomNumber":1}"#,
            r#"{"id":99999999999999999999,"randomNumber":1}"#,
            r#"{"id":1}"#,
            r#"{"id":1,"randomNumber":1,"more":1}"#,
            r#"{"id":1,"id":1,"randomNumber":1}"#,
            r#"{"id":1,"randomNumber":1}x"#,
            r#"{"id":1,"randomNumber":1"#,
            r#"[{"id":1,"randomNumber":1}]"#,
            "",
        ] {
            assert!(!matches(ROW, wrong), "{wrong}");
        }
        assert!(matches(r#"{"id": integer, ...}"#, r#"{"x":[{}],"id":-5,"y":null}"#));
        assert!(!matches(r#"{"id": integer, ...}"#, r#"{"x":1}"#));
    }

    #[test]
    fn an_array_has_as_many_elements_as_it_should() {
        let rows = |n: usize| format!("[{}]", vec![r#"{"id":1,"randomNumber":2}"#; n].join(","));
        for n in [0, 1, 19, 20, 21] {
            assert_eq!(matches(&format!("[20 * {ROW}]"), &rows(n)), n == 20);
            assert_eq!(matches(&format!("[1..20 * {ROW}]"), &rows(n)), (1..=20).contains(&n));
            assert!(matches(&format!("[any * {ROW}]"), &rows(n)));
        }
        assert!(matches("[1, string, []]", r#"[1,"x",[]]"#));
        assert!(!matches("[1, string]", r#"[1,"x",2]"#) && !matches("[1, string]", "[1]"));
    }

    #[test]
    fn scalars_are_compared_as_values() {
        for (shape, right, wrong) in [
            ("null", "null", "0"),
            ("true", "true", "false"),
            ("boolean", "false", "0"),
            ("\"a\\u0062\"", "\"ab\"", "\"abc\""),
            ("string", "\"\"", "null"),
            ("1.5", "15e-1", "1.6"),
            ("number", "-1e9", "\"1\""),
            ("integer", "-9", "9.5"),
            ("-5..-3", "-4", "4"),
            ("any", "{\"a\":[1,{}]}", "{\"a\":}"),
        ] {
            assert!(matches(shape, right) && !matches(shape, wrong), "{shape}");
        }
        assert!(!"any".parse::<Shape>().unwrap().matches(b"\"\xff\""), "UTF-8 only (RFC 8259)");
    }
}
