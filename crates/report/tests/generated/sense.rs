//! What no text for people may hold: numbers that nobody can use.

/// No percentage beyond this tells anybody anything.
const MOST_PERCENT: f64 = 1000.0;
/// From here on a number for people has no fraction.
const WHOLE_FROM: f64 = 1000.0;
/// What a share can be of no more than all of.
const WHOLES: [&str; 7] = [
    "of the time",
    "of the rounds' time",
    "of its CPU",
    "of a window",
    "of the server's CPUs",
    "of all",
    "of the requests",
];

/// What must not be in a text for people, if anything is.
pub(crate) fn nonsense(text: &str) -> Option<String> {
    infinite(text).map(str::to_owned).or_else(|| senseless(text)).or_else(|| overfull(text))
}

/// The first thing in a text that is not finite.
pub(crate) fn infinite(text: &str) -> Option<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.into_iter().find(|word| matches!(*word, "inf" | "NaN" | "nan" | "infinity"))
}

/// The first number in a text for people that no person can use.
pub(crate) fn senseless(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = &rest[at..];
        let end = from.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(from.len());
        let number = from[..end].trim_end_matches(['.', ',']);
        let behind = &from[number.len()..];
        if let Ok(value) = number.replace(',', "").parse::<f64>() {
            let is_percentage = behind.starts_with(" %");
            let told: String = rest.chars().skip(at.saturating_sub(20)).take(70).collect();
            if is_percentage && value > MOST_PERCENT {
                return Some(format!("{number} % in `{told}`"));
            }
            if number.contains('.') && value >= WHOLE_FROM {
                return Some(format!("{number} in `{told}`"));
            }
        }
        rest = &from[number.len().max(1)..];
    }
    None
}

/// The first share of a whole that is more than that, in the words in which it is told.
fn overfull(text: &str) -> Option<String> {
    // A terminal breaks lines where they are full.
    let words: Vec<&str> = text.split_whitespace().collect();
    let told = words.join(" ");
    let shares = told.match_indices(" % of ");
    let mut overfull = shares.filter_map(|(at, _)| {
        let share = told[..at].rsplit(|c: char| !(c.is_ascii_digit() || c == '.')).next()?;
        let of_whole = WHOLES.iter().any(|whole| told[at + 3..].starts_with(whole));
        (of_whole && share.parse::<f64>().is_ok_and(|share| share > 100.0))
            .then(|| format!("{share}{}", &told[at..]))
    });
    overfull.next().map(|told| told.chars().take(70).collect())
}

#[test]
fn senseless_numbers_are_found() {
    for bad in ["± 156332510070906755 %", "28376.00 system calls per answer", "vary by 9,156 %", "1,234.5 a"]
    {
        assert!(senseless(bad).is_some(), "{bad}");
    }
    for good in ["p99 0.75 ms, 86 %", "1,234,567 requests, 12.5 of 1000.", "[1.21 … 1.30]", "127.0.0.1:8080"]
    {
        assert_eq!(senseless(good), None, "{good}");
    }
    for bad in ["it waited 130 % of the time", "used up to 101 %\n   of its CPU"] {
        assert!(overfull(bad).is_some(), "{bad}");
    }
    assert_eq!(overfull("100 % of the time, 130 % of this machine's limit, 62 % of a window"), None);
    assert_eq!((infinite("± inf %"), infinite("le=\"+Inf\" information")), (Some("inf"), None));
}
