//! OpenMetrics text, read by the grammar of its specification (OpenMetrics 1.0, sections "ABNF" and "Overall Structure").
//!
//! It is made of gauges and info metrics, which are all that we write, and it is stricter than a scraper: what the
//! specification merely recommends is demanded. Written from the specification, without a look at the code that it judges.

use std::collections::{BTreeMap, BTreeSet};

/// The families of an exposition by their names.
pub(crate) type Exposition = BTreeMap<String, Family>;

/// A metric family: what its descriptors say, and its samples.
#[derive(Debug, Default)]
pub(crate) struct Family {
    kind: Option<String>,
    pub(crate) unit: Option<String>,
    help: Option<String>,
    pub(crate) samples: Vec<Sample>,
}

/// One line with a number.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// Reads a whole exposition, or says which line breaks which rule.
pub(crate) fn read(text: &str) -> Result<Exposition, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("the last line is not `# EOF`")?;
    if !body.is_empty() && !body.ends_with('\n') {
        return Err("a line does not end before `# EOF`".to_owned());
    }
    let (mut families, mut last) = (Exposition::new(), String::new());
    for line in body.split_terminator('\n') {
        take(line, &mut families, &mut last).map_err(|rule| format!("{rule}: {line}"))?;
    }
    for (name, family) in &families {
        whole(name, family).map_err(|rule| format!("{rule}: {name}"))?;
    }
    Ok(families)
}

/// Adds a line to its family, which must be the last one: families do not interleave.
fn take(line: &str, families: &mut Exposition, last: &mut String) -> Result<(), &'static str> {
    let Some(descriptor) = line.strip_prefix("# ") else {
        let family = families.get_mut(last.as_str()).ok_or("a sample stands before its descriptors")?;
        let suffix = if family.kind.as_deref() == Some("info") { "_info" } else { "" };
        let rest =
            line.strip_prefix(&format!("{last}{suffix}")).ok_or("a sample has another family's name")?;
        family.samples.push(sample(rest)?);
        return Ok(());
    };
    let (what, rest) = descriptor.split_once(' ').ok_or("a descriptor has no name")?;
    let (name, value) = rest.split_once(' ').ok_or("a descriptor has no value")?;
    if !is_name(name, ":") {
        return Err("no name of a metric");
    }
    if name != last && families.contains_key(name) {
        return Err("a family stands in two places");
    }
    name.clone_into(last);
    let family = families.entry(name.to_owned()).or_default();
    if !family.samples.is_empty() {
        return Err("a descriptor stands behind samples");
    }
    let place = match what {
        "TYPE" => &mut family.kind,
        "UNIT" => &mut family.unit,
        "HELP" => &mut family.help,
        _ => return Err("no descriptor of OpenMetrics"),
    };
    let value = if what == "HELP" { unescaped(value)? } else { value.to_owned() };
    place.replace(value).map_or(Ok(()), |_| Err("a descriptor is there twice"))
}

/// The rules that hold for a family as a whole.
fn whole(name: &str, family: &Family) -> Result<(), &'static str> {
    let kind = family.kind.as_deref();
    if !matches!(kind, Some("gauge" | "info")) {
        return Err("neither a gauge nor an info metric");
    }
    if family.help.as_deref().is_none_or(str::is_empty) {
        return Err("no help");
    }
    match &family.unit {
        Some(_) if kind == Some("info") => return Err("an info metric has a unit"),
        Some(unit) if !name.ends_with(&format!("_{unit}")) => {
            return Err("the name does not end with the unit");
        }
        _ => {}
    }
    let distinct: BTreeSet<_> = family.samples.iter().map(|sample| &sample.labels).collect();
    if distinct.len() < family.samples.len() {
        return Err("two samples have the same labels");
    }
    if kind == Some("info") && family.samples.iter().any(|sample| sample.value != 1.0) {
        return Err("an info metric is not 1");
    }
    Ok(())
}

/// What follows the name: labels in braces, a space, a number.
fn sample(rest: &str) -> Result<Sample, &'static str> {
    let mut labels = BTreeMap::new();
    let mut rest = rest;
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            if !labels.is_empty() {
                rest = rest.strip_prefix(',').ok_or("no comma between labels")?;
            }
            let (name, value) = rest.split_once("=\"").ok_or("a label has no value")?;
            let end = closing_quote(value).ok_or("a label's value does not end")?;
            if !is_name(name, "") || name.starts_with("__") {
                return Err("no name of a label");
            }
            if labels.insert(name.to_owned(), unescaped(&value[..end])?).is_some() {
                return Err("a label is there twice");
            }
            rest = &value[end + 1..];
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ').ok_or("no space before the number")?;
    let is_decimal = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let value = number.parse().ok().filter(|_| number.chars().all(is_decimal)).ok_or("no finite number")?;
    Ok(Sample { labels, value })
}

/// Where a value ends: at the first quotation mark that no backslash precedes.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })
}

/// `escaped-string` of the grammar; an escape without a meaning is refused.
fn unescaped(text: &str) -> Result<String, &'static str> {
    let (mut out, mut characters) = (String::new(), text.chars());
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some(same @ ('"' | '\\')) => same,
                _ => return Err("an escape means nothing"),
            },
            '"' => return Err("a quotation mark is not escaped"),
            other => other,
        });
    }
    Ok(out)
}

/// A name of a metric or a label: letters, digits and underscores, and what else it `may` have; no digit in front.
fn is_name(name: &str, may: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || may.contains(c);
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits)
}
