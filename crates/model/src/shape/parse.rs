//! Reading a shape as people write it.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::json::{Walk, says};
use super::{MAX_KEYS, Rule, Shape, float, integer};

/// Lists and objects inside each other at most.
const MAX_DEPTH: u32 = 32;

/// A shape that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {why}; write for example {{\"id\": 1..10000, \"name\": string}} or [20 * number]")]
pub struct BadShape {
    /// Where, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    pub why: &'static str,
}

impl FromStr for Shape {
    type Err = BadShape;

    fn from_str(text: &str) -> Result<Self, BadShape> {
        let mut reader = Reader { walk: Walk::new(text.as_bytes()), depth: 0 };
        let rule = reader.rule().map_err(|why| reader.bad(why))?;
        reader.walk.space();
        if reader.walk.is_at_end() { Ok(Self(rule)) } else { Err(reader.bad("something follows the shape")) }
    }
}

struct Reader<'t> {
    walk: Walk<'t>,
    depth: u32,
}

type Read<T> = Result<T, &'static str>;

impl Reader<'_> {
    fn bad(&self, why: &'static str) -> BadShape {
        BadShape { offset: self.walk.position(), why }
    }

    fn rule(&mut self) -> Read<Rule> {
        if self.depth == MAX_DEPTH {
            return Err("too many lists and objects inside each other");
        }
        self.depth += 1;
        self.walk.space();
        let rule = match self.walk.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => Ok(Rule::Text(Some(self.text()?))),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }?;
        self.depth -= 1;
        Ok(rule)
    }

    fn word(&mut self) -> Read<Rule> {
        let words = [
            ("any", Rule::Any),
            ("null", Rule::Null),
            ("true", Rule::Boolean(Some(true))),
            ("false", Rule::Boolean(Some(false))),
            ("boolean", Rule::Boolean(None)),
            ("string", Rule::Text(None)),
            ("number", Rule::Number(None)),
            ("integer", Rule::Integer(i64::MIN..=i64::MAX)),
        ];
        let found = words.into_iter().find(|(word, _)| self.walk.token(word).is_some());
        found.map(|(_, rule)| rule).ok_or("neither JSON nor the name of a rule")
    }

    fn text(&mut self) -> Read<String> {
        let token = self.walk.string().ok_or("a string without an end")?;
        let quoted = format!("\"{}\"", String::from_utf8_lossy(token));
        let text: String = serde_json::from_str(&quoted).map_err(|_| "a string that is no JSON")?;
        debug_assert!(says(token, &text));
        Ok(text)
    }

    /// A number, or the range of integers that begins with it.
    fn number(&mut self) -> Read<Rule> {
        let low = self.walk.number().ok_or("a number that is no JSON")?;
        if self.walk.token("...").is_some() {
            return Err("a range has two dots");
        }
        if self.walk.token("..").is_none() {
            return float(low).map(|value| Rule::Number(Some(value))).ok_or("a number that is no JSON");
        }
        let high = self.walk.number().ok_or("a range without its upper end")?;
        match (integer(low), integer(high)) {
            (Some(low), Some(high)) if low <= high => Ok(Rule::Integer(low..=high)),
            _ => Err("a range from one integer to a greater one is meant"),
        }
    }

    fn list(&mut self) -> Read<Rule> {
        self.expect("[")?;
        let mut rules = Vec::new();
        if self.walk.token("]").is_some() {
            return Ok(Rule::Tuple(rules));
        }
        loop {
            rules.push(self.rule()?);
            if rules.len() == 1 && self.walk.token("*").is_some() {
                let count = count(&rules[0])?;
                let each = Box::new(self.rule()?);
                self.expect("]")?;
                return Ok(Rule::List { count, each });
            }
            if self.walk.token(",").is_none() {
                self.expect("]")?;
                return Ok(Rule::Tuple(rules));
            }
        }
    }

    fn object(&mut self) -> Read<Rule> {
        self.expect("{")?;
        let (mut fields, mut is_open) = (Vec::<(String, Rule)>::new(), false);
        if self.walk.token("}").is_some() {
            return Ok(Rule::Object { fields, is_open });
        }
        loop {
            if self.walk.token("...").is_some() {
                is_open = true;
            } else {
                let key = self.text()?;
                if fields.len() == MAX_KEYS || fields.iter().any(|(known, _)| *known == key) {
                    return Err("a key that was there before, or more than 64");
                }
                self.expect(":")?;
                fields.push((key, self.rule()?));
            }
            if is_open || self.walk.token(",").is_none() {
                self.expect("}")?;
                return Ok(Rule::Object { fields, is_open });
            }
        }
    }

    fn expect(&mut self, token: &'static str) -> Read<()> {
        self.walk.token(token).ok_or(match token {
            "}" => "a comma or } is missing",
            "]" => "a comma or ] is missing",
            ":" => "a : is missing",
            _ => "something is missing",
        })
    }
}

/// How many elements a list has whose count is written like this.
fn count(rule: &Rule) -> Read<RangeInclusive<u64>> {
    match rule {
        Rule::Any => Ok(0..=u64::MAX),
        Rule::Number(Some(n)) if *n >= 0.0 && n.fract() == 0.0 => Ok(*n as u64..=*n as u64),
        Rule::Integer(range) if *range.start() >= 0 => Ok(*range.start() as u64..=*range.end() as u64),
        _ => Err("before * stands a count: 20, 1..500 or any"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_shapes_are_told_with_their_place() {
        for (bad, offset) in [
            ("", 0),
            ("{\"id\": 1...5}", 11),
            ("{\"id\": 5..1}", 11),
            ("{\"id\" 1}", 6),
            ("{\"id\": 1, \"id\": 2}", 14),
            ("[1 2]", 3),
            ("[-1 * any]", 5),
            ("[string * any]", 9),
            ("row", 0),
            ("1 1", 2),
            ("\"open", 5),
        ] {
            let error = bad.parse::<Shape>().unwrap_err();
            assert_eq!(error.offset, offset, "{bad}: {error}");
        }
        assert!("[".repeat(100_000).parse::<Shape>().is_err());
    }
}
