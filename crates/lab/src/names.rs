//! Names: what they look like, and which known one was perhaps meant.

use sha2::{Digest as _, Sha256};
use strsim::osa_distance;

/// Most names offered when one is unknown.
const MAX_SUGGESTIONS: usize = 3;
/// Longest list of all known names that is worth printing instead of suggestions.
const MAX_LISTED: usize = 12;

/// Longest name that is made of a text: it is part of file names, and people read it in tables.
const MAX_MADE: usize = 48;
/// Digits that tell texts apart that begin alike.
const MARK_DIGITS: usize = 6;

/// Whether `name` is `[a-z0-9-]+`, so that it can be a file name, a word in a command line and a key anywhere.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// A name made of any text: other characters become single hyphens, and a long one is cut and marked by what the text was.
pub(crate) fn name_of(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return "unnamed".to_owned();
    }
    let name = parts.join("-");
    if name.len() <= MAX_MADE { name } else { cut(&name, text) }
}

/// A name made of a URL that is shown like this. Its query is told by a mark alone: it may be long, and hold what is secret.
pub(crate) fn name_of_url(shown: &str, url: &str) -> String {
    let path = shown.split(['?', '#']).next().unwrap_or_default();
    match url.split_once('?') {
        Some((_, query)) => name_of(&format!("{path} {}", &sha256(query.as_bytes())[..MARK_DIGITS])),
        None => name_of(path),
    }
}

fn cut(name: &str, text: &str) -> String {
    let mark = sha256(text.as_bytes());
    let kept = name[..MAX_MADE - MARK_DIGITS - 1].trim_end_matches('-');
    format!("{kept}-{}", &mark[..MARK_DIGITS])
}

/// The SHA-256 of some bytes (FIPS 180-4) in lower-case hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What to tell somebody who asked for `name` when only `known` exist.
pub(crate) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    hint_beside(name, known, None)
}

/// What [`hint`] tells; many names are not told where a command `lists` them.
pub(crate) fn hint_beside<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    lists: Option<&str>,
) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let near = nearest(name, &known);
    if !near.is_empty() {
        return format!("did you mean {}?", near.join(" or "));
    }
    match lists.filter(|_| known.len() > MAX_LISTED) {
        Some(command) => format!("{} are known: `{command}` shows them", known.len()),
        None if known.is_empty() => "there is none at all".to_owned(),
        None => format!("known are {}", known.join(", ")),
    }
}

/// The known names within a third of `name`'s length in edits, or that contain it, nearest first. Two neighbours that are swapped are
/// one edit, because people type so (optimal string alignment).
fn nearest<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let lower = name.to_ascii_lowercase();
    let allowed = (lower.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .map(|candidate| (osa_distance(&lower, &candidate.to_ascii_lowercase()), *candidate))
        .filter(|(edits, candidate)| *edits <= allowed || (lower.len() > 2 && candidate.contains(&lower)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_makes_a_name_that_a_file_can_have_and_no_other_text_makes() {
        let long = |end: &str| name_of(&format!("java -jar {} {end}", "/srv/app/".repeat(50)));
        let (one, other) = (long("one.jar"), long("two.jar"));
        assert!(one.len() <= MAX_MADE && is_name(&one) && one.starts_with("java-jar-srv-app-"), "{one}");
        assert_ne!(one, other);
        assert_eq!(name_of("node app.js"), "node-app-js");
    }

    #[test]
    fn suggests_what_is_near_and_lists_when_nothing_is() {
        let known = ["nginx", "gin", "node", "net-http"];
        assert_eq!(hint("ngnix", known), "did you mean nginx?");
        assert_eq!(hint("nod", known), "did you mean node?");
        assert_eq!(hint("http", known), "did you mean net-http?");
        assert_eq!(hint("apache", known), "known are gin, net-http, nginx, node");
        assert_eq!(hint("x", []), "there is none at all");
        let many: Vec<String> = (0..13).map(|n| format!("2026-11-{n:02}")).collect();
        let many = || many.iter().map(String::as_str);
        let listed = hint_beside("nosuch", many(), Some("assay list runs --all"));
        assert_eq!(listed, "13 are known: `assay list runs --all` shows them");
        assert!(hint("nosuch", many()).ends_with("2026-11-11, 2026-11-12"), "nothing else shows them");
    }

    #[test]
    fn names() {
        assert!(is_name("net-http2") && !is_name("Net") && !is_name("") && !is_name("a/b"));
        assert_eq!(name_of("node app.js"), "node-app-js");
        assert_eq!(name_of("///"), "unnamed");
    }
}
