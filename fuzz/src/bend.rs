//! JSON documents bent by the bytes of a fuzzer, so that they still look like what they were.

use serde_json::{Number, Value};

/// Most changes to one document.
const MAX_CHANGES: usize = 32;
/// Ends a way down before its leaf.
const STOP: u8 = 0xff;

/// Changes a document as the bytes say: a way down to a value, and what becomes of it.
pub fn bend(document: &mut Value, bytes: &[u8]) {
    let mut rest = bytes;
    for _ in 0..MAX_CHANGES {
        if rest.is_empty() {
            return;
        }
        let value = descend(document, &mut rest);
        change(value, &mut rest);
    }
}

fn take(rest: &mut &[u8]) -> u8 {
    let Some((first, tail)) = rest.split_first() else { return STOP };
    *rest = tail;
    *first
}

fn descend<'d>(mut value: &'d mut Value, rest: &mut &[u8]) -> &'d mut Value {
    loop {
        let choice = take(rest);
        let is_leaf = match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => true,
        };
        if choice == STOP || is_leaf {
            return value;
        }
        value = match value {
            Value::Array(items) => {
                let index = usize::from(choice) % items.len();
                &mut items[index]
            }
            Value::Object(fields) => {
                let index = usize::from(choice) % fields.len();
                match fields.values_mut().nth(index) {
                    Some(field) => field,
                    None => unreachable!("an index below the length"),
                }
            }
            leaf => return leaf,
        };
    }
}

fn change(value: &mut Value, rest: &mut &[u8]) {
    let how = take(rest);
    match value {
        Value::Number(number) => *number = another(number, how, rest),
        Value::String(text) => *text = retold(text, how, rest),
        Value::Bool(flag) => *flag = !*flag,
        Value::Array(items) => shuffle(items, how, take(rest)),
        Value::Object(fields) => {
            let name = fields.keys().nth(usize::from(how) % fields.len().max(1)).cloned();
            name.map(|name| fields.remove(&name));
        }
        Value::Null => *value = Value::from(how),
    }
}

/// Numbers at which arithmetic goes wrong.
fn another(number: &Number, how: u8, rest: &mut &[u8]) -> Number {
    let fraction = |value: f64| Number::from_f64(value).unwrap_or_else(|| 0.into());
    match how % 16 {
        0 => 0.into(),
        1 => 1.into(),
        2 => u32::MAX.into(),
        3 => u64::MAX.into(),
        4 => (u64::MAX / 2).into(),
        5 => (-1).into(),
        6 => i64::MIN.into(),
        7 => fraction(f64::MAX),
        8 => fraction(f64::MIN),
        9 => fraction(5e-324),
        10 => fraction(-0.0),
        11 => fraction(0.5),
        12 => u16::from_be_bytes([take(rest), take(rest)]).into(),
        13 => number.as_u64().map_or_else(|| 7.into(), |n| n.wrapping_add(1).into()),
        14 => number.as_f64().map_or_else(|| 7.into(), |n| fraction(n * 1e6)),
        _ => fraction(f64::from(take(rest)) / 16.0),
    }
}

fn retold(text: &str, how: u8, rest: &mut &[u8]) -> String {
    match how % 8 {
        0 => String::new(),
        1 if text.len() <= MAX_TEXT_BYTES => text.repeat(2),
        2 => text.chars().rev().collect(),
        3 => text.chars().take(text.chars().count() / 2).collect(),
        4 => "\u{1b}[31m\u{202e}|`<b>\0".to_owned(),
        5 => "9".repeat(usize::from(take(rest))),
        6 => format!("0-{}", u32::MAX),
        _ => {
            let (own, tail) = rest.split_at(usize::from(take(rest)).min(rest.len()));
            *rest = tail;
            String::from_utf8_lossy(own).into_owned()
        }
    }
}

/// Longest text that repeating it may lead to twice of.
const MAX_TEXT_BYTES: usize = 1 << 12;
/// Longest list that repeating one's elements may lead to.
const MAX_ITEMS: usize = 256;

fn shuffle(items: &mut Vec<Value>, how: u8, which: u8) {
    if items.is_empty() {
        return;
    }
    let which = usize::from(which) % items.len();
    match how % 5 {
        0 => items.clear(),
        1 => drop(items.remove(which)),
        2 => items.insert(0, items[which].clone()),
        3 => items.reverse(),
        _ => {
            let more =
                vec![items[which].clone(); MAX_ITEMS.saturating_sub(items.len()).min(usize::from(how))];
            items.extend(more);
        }
    }
}
