//! Version numbers in the output of programs.

use std::cmp::Ordering;

/// The first dotted number in `text` ("go version go1.22.3 linux/amd64" has 1.22.3), else its first number ("javac 21").
pub(crate) fn first_version(text: &str) -> Option<String> {
    let runs = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|run| run.trim_matches('.'));
    let mut numbers = runs.filter(|run| run.starts_with(|c: char| c.is_ascii_digit())).peekable();
    let first = numbers.peek().copied();
    numbers.find(|run| run.contains('.')).or(first).map(str::to_owned)
}

/// Whether `text` is a dotted number, as [`compare`] takes it.
pub(crate) fn is_version(text: &str) -> bool {
    let is_number =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u64>().is_ok();
    text.split('.').all(is_number)
}

/// Compares dotted numbers part by part; a missing part counts as 0, so that 3 equals 3.0.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| -> Vec<u64> { text.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    let (mut a, mut b) = (parts(a), parts(b));
    let length = a.len().max(b.len());
    a.resize(length, 0);
    b.resize(length, 0);
    a.cmp(&b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_dotted_number() {
        for (text, version) in [
            ("go version go1.22.3 linux/amd64", Some("1.22.3")),
            ("v18.19.0", Some("18.19.0")),
            ("openjdk version \"17.0.12\" 2024-07-16", Some("17.0.12")),
            ("javac 21", Some("21")),
            ("nginx version: nginx/1.22.1", Some("1.22.1")),
            ("Server version: Apache/2.4.62 (Debian)", Some("2.4.62")),
            ("github.com/gin-gonic/gin v1.10.0", Some("1.10.0")),
            ("build/lib/vertx-core-5.0.12.jar", Some("5.0.12")),
            ("Apache Maven 3.8.7.", Some("3.8.7")),
            ("no number ... here", None),
        ] {
            assert_eq!(first_version(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn a_version_is_a_dotted_number() {
        assert!(["9", "1.23", "17.0.12", "0"].iter().all(|text| is_version(text)));
        for text in ["", "v99.0", ">=99", "abc", "1.", ".1", "1..2", "+1", "1.x", "1 2"] {
            assert!(!is_version(text), "{text}");
        }
    }

    #[test]
    fn compares_numbers_not_text() {
        assert_eq!(compare("1.9", "1.10"), Ordering::Less);
        assert_eq!(compare("2.4.62", "2.4"), Ordering::Greater);
        assert_eq!(compare("21", "21.0"), Ordering::Equal);
        assert_eq!(compare("18.0.0", "18"), Ordering::Equal);
    }
}
