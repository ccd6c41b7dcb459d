//! Text with placeholders for numbers that differ from request to request.
//!
//! | placeholder | stands for |
//! |---|---|
//! | `${random:1..500}` | a random number, each as likely as the other, both ends included |
//! | `${random:001..500}` | the same with leading zeros |
//! | `${sequence}`, `${sequence:1000}` | 1 (or 1000), and one more in each request of its kind |
//! | `${id=random:1..500}` | the same number wherever `${id}` stands in this request or in its right answer |
//! | `${letters:1000}` | so many letters, always the same: a long body without a long file |
//! | `${token}` | what a command printed before the load ([`crate::workload::Workload::before`]), put there by [`with_values`] |
//!
//! `$${` stands for `${`. A number depends only on the seed, the request's number and the placeholder's place, so any part
//! of a request can be written again at any time.

/// Placeholders of one kind of request at most.
pub const MAX_PLACEHOLDERS: usize = 64;

/// Most letters that all `${letters:N}` of a request stand for together, and as many in its right answer.
pub const MAX_LETTERS: usize = 64 << 20;

/// How a placeholder for letters begins.
const LETTERS_MARK: &str = "letters:";
const TOO_MANY_LETTERS: &str = "with it, the letters of this request are more than 67108864";

/// What `${letters:N}` repeats; what is missing, doubled or misplaced shows unless that is a multiple of 64 bytes.
const LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// The text without placeholders: what looks like one is what it says.
pub fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// The numbers of one kind of request, in the order in which its texts mention them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    sources: Vec<Source>,
    names: Vec<(String, usize)>,
    /// Letters in its texts so far.
    letters: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Random { low: u64, high: u64, width: usize },
    Sequence { first: u64 },
}

/// A text cut at its placeholders; belongs to the [`Numbers`] that read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The number with this index.
    Number(usize),
}

/// A placeholder that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{placeholder}`: {why}; write ${{random:1..500}}, ${{sequence}}, ${{letters:1000}}, or ${{name=…}} and ${{name}}, and $${{ where a literal ${{ is meant"
)]
pub struct BadPlaceholder {
    /// The placeholder as it was written.
    pub placeholder: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// One request's numbers are drawn from this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// Seed of the measurement.
    pub seed: u64,
    /// Number of the request within its kind, from 0; no two requests have the same.
    pub request: u64,
}

impl Numbers {
    /// Reads a text of a request; it may introduce numbers.
    ///
    /// # Errors
    /// The first placeholder that cannot be understood.
    pub fn read(&mut self, text: &str) -> Result<Template, BadPlaceholder> {
        self.letters = check_letters(text, self.letters)?;
        cut(text, |inner| self.introduce(inner))
    }

    /// Reads a text of a right answer; it may only repeat numbers of the request.
    ///
    /// # Errors
    /// The first placeholder that cannot be understood or names no number of the request.
    pub fn read_answer(&self, text: &str) -> Result<Template, BadPlaceholder> {
        check_letters(text, 0)?;
        cut(text, |inner| self.find(inner).ok_or("the request has no number of this name"))
    }

    fn introduce(&mut self, inner: &str) -> Result<usize, &'static str> {
        let (name, rule) = match inner.split_once('=') {
            Some((name, rule)) => (Some(name), rule),
            None if inner.starts_with("sequence") => (Some(inner), inner),
            None => (None, inner),
        };
        if let Some(index) = self.find(inner) {
            return Ok(index);
        }
        let source = source(rule)?;
        if self.sources.len() == MAX_PLACEHOLDERS {
            return Err("one placeholder too many: 64 are allowed in a request");
        }
        self.sources.push(source);
        if let Some(name) = name {
            if name.is_empty() || self.find(name).is_some() {
                return Err("a name must not be empty and is given once");
            }
            self.names.push((name.to_owned(), self.sources.len() - 1));
        }
        Ok(self.sources.len() - 1)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
    }

    /// The number with this index, with the least number of digits it is written with.
    #[inline]
    fn value(&self, index: usize, draw: Draw) -> (u64, usize) {
        match self.sources[index] {
            Source::Sequence { first } => (first.wrapping_add(draw.request), 1),
            Source::Random { low, high, width } => {
                let place = draw.request.wrapping_mul(MAX_PLACEHOLDERS as u64).wrapping_add(index as u64);
                let random = split_mix(draw.seed, place);
                // Multiply and shift (Lemire 2019): uneven by less than one part in 2⁶⁴ / (high - low).
                let offset = (u128::from(random) * (u128::from(high - low) + 1)) >> 64;
                (low + offset as u64, width)
            }
        }
    }
}

/// Output number `place` of the generator SplitMix64 (Steele, Lea, Flood 2014), which can be had in any order.
#[inline]
fn split_mix(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn source(rule: &str) -> Result<Source, &'static str> {
    let number = |text: &str| -> Result<u64, &'static str> {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let parsed = if plain { text.parse().ok() } else { None };
        parsed.ok_or("a number is missing, or is no whole number below 2⁶⁴")
    };
    match rule.split_once(':').unwrap_or((rule, "")) {
        ("sequence", "") => Ok(Source::Sequence { first: 1 }),
        ("sequence", first) => Ok(Source::Sequence { first: number(first)? }),
        ("random", range) => {
            let (low_text, high_text) = range.split_once("..").ok_or("a random number needs a range")?;
            let (low, high) = (number(low_text)?, number(high_text)?);
            // As a shell's {001..500} does.
            let padded = low_text.len() > 1 && low_text.starts_with('0');
            let width = if padded { low_text.len().max(high_text.len()) } else { 1 };
            if low > high || width > MAX_DIGITS {
                return Err("the range ends before it begins, or has more than 20 digits");
            }
            Ok(Source::Random { low, high, width })
        }
        _ if is_name(rule) => {
            Err("no number of the request has this name, and no command before the load prints it (--before)")
        }
        _ => Err("nothing of this name is known"),
    }
}

/// `text` with every `${NAME}` replaced of which `value_of` knows the value, which stands there as it is: nothing in it is a
/// placeholder. All other placeholders stay.
pub fn with_values(text: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        filled += before;
        let value = if before.ends_with('$') { None } else { inner_of(behind).and_then(&value_of) };
        rest = match value {
            Some(value) => {
                filled += &literal(&value);
                behind.split_once('}').map_or("", |(_, after)| after)
            }
            None => {
                filled += "${";
                behind
            }
        };
    }
    filled + rest
}

/// What stands between the braces of each placeholder in `text`, in order.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$'));
    starts.filter_map(|(at, mark)| inner_of(&text[at + mark.len()..]))
}

/// Whether a placeholder is nothing but a name, which a command may give a value: `token`, `SESSION_2`.
pub fn is_name(placeholder: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_known = KEYWORDS.contains(&placeholder);
    let bytes = placeholder.as_bytes();
    !is_known
        && bytes.first().is_some_and(|first| is_letter(*first))
        && bytes.iter().all(|&byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Names that stand for numbers already.
const KEYWORDS: [&str; 2] = ["sequence", "random"];

fn inner_of(behind: &str) -> Option<&str> {
    behind.split_once('}').map(|(inner, _)| inner)
}

fn cut(
    text: &str,
    mut index_of: impl FnMut(&str) -> Result<usize, &'static str>,
) -> Result<Template, BadPlaceholder> {
    let mut template = Template::default();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            template.push_text(before);
            template.push_text("${");
            rest = behind;
            continue;
        }
        let bad = |placeholder: &str, why| BadPlaceholder { placeholder: placeholder.to_owned(), why };
        let start: String = rest[before.len()..].chars().take(32).collect();
        let (inner, after) = behind.split_once('}').ok_or_else(|| bad(&start, "it has no end"))?;
        let bad = |why| bad(&format!("${{{inner}}}"), why);
        template.push_text(before);
        match inner.strip_prefix(LETTERS_MARK) {
            Some(count) => template.push_text(&letters(letter_count(count).map_err(bad)?)),
            None => template.pieces.push(Piece::Number(index_of(inner).map_err(bad)?)),
        }
        rest = after;
    }
    template.push_text(rest);
    Ok(template)
}

/// Letters in all texts of which one is about to be read, before any is made: a file of some kilobytes could ask for gigabytes.
fn check_letters(text: &str, mut before: usize) -> Result<usize, BadPlaceholder> {
    for inner in placeholders(text) {
        let Some(count) = inner.strip_prefix(LETTERS_MARK) else { continue };
        let all = letter_count(count).map(|count| before.saturating_add(count));
        let all = all.and_then(|all| if all > MAX_LETTERS { Err(TOO_MANY_LETTERS) } else { Ok(all) });
        before = all.map_err(|why| BadPlaceholder { placeholder: format!("${{{inner}}}"), why })?;
    }
    Ok(before)
}

fn letter_count(count: &str) -> Result<usize, &'static str> {
    count.parse().map_err(|_| "a number of letters is missing, or is no whole number")
}

/// A text of `count` letters.
fn letters(count: usize) -> String {
    LETTERS.chars().cycle().take(count).collect()
}

/// Digits of the largest number.
const MAX_DIGITS: usize = 20;

impl Template {
    fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Whether it says the same in every request.
    pub fn is_fixed(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// Bytes that it has in this request.
    #[inline]
    pub fn len(&self, numbers: &Numbers, draw: Draw) -> usize {
        let len = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Number(index) => {
                let (value, width) = numbers.value(*index, draw);
                digits(value).max(width)
            }
        };
        self.pieces.iter().map(len).sum()
    }

    /// Writes what it says in this request.
    #[inline]
    pub fn write(&self, numbers: &Numbers, draw: Draw, out: &mut TextPart<'_>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push(text.as_bytes()),
                Piece::Number(index) => {
                    let (value, width) = numbers.value(*index, draw);
                    out.push_decimal(value, width);
                }
            }
        }
    }

    /// What it says in this request.
    pub fn text(&self, numbers: &Numbers, draw: Draw) -> String {
        let mut bytes = Vec::new();
        self.write(numbers, draw, &mut TextPart::new(0, usize::MAX, &mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Digits of a number's decimal form.
#[inline]
pub fn digits(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Where a part of a text is written: after so many bytes that are left out, so many at most.
#[derive(Debug)]
pub struct TextPart<'o> {
    skip: usize,
    room: usize,
    out: &'o mut Vec<u8>,
}

impl<'o> TextPart<'o> {
    /// Leaves out the first `skip` bytes and appends the next ones to `out`, `room` at most.
    pub fn new(skip: usize, room: usize, out: &'o mut Vec<u8>) -> Self {
        Self { skip, room, out }
    }

    /// Whether all that follows would be left out.
    pub fn is_full(&self) -> bool {
        self.room == 0
    }

    /// The next bytes of the text.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        let taken = self.room.min(bytes.len() - skipped);
        self.room -= taken;
        self.out.extend_from_slice(&bytes[skipped..skipped + taken]);
    }

    /// A number in at least `width` digits.
    #[inline]
    pub fn push_decimal(&mut self, mut value: u64, width: usize) {
        let mut room = [b'0'; MAX_DIGITS];
        let first = MAX_DIGITS - digits(value).max(width).min(MAX_DIGITS);
        let mut at = MAX_DIGITS;
        while value > 0 {
            at -= 1;
            room[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.push(&room[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str, requests: std::ops::Range<u64>) -> Vec<String> {
        let mut numbers = Numbers::default();
        let template = numbers.read(text).unwrap();
        requests.map(|request| template.text(&numbers, Draw { seed: 7, request })).collect()
    }

    #[test]
    fn sequences_count_and_keep_their_place() {
        assert_eq!(says("/users/${sequence}?a", 8..11), ["/users/9?a", "/users/10?a", "/users/11?a"]);
        assert_eq!(says("${sequence:0}-${sequence:0}", 0..2), ["0-0", "1-1"]);
        assert_eq!(says("a$${b}$$c${sequence}", 0..1), ["a${b}$$c1"]);
    }

    #[test]
    fn random_numbers_fill_their_range_evenly_whatever_their_digits() {
        let mut counts = [0u32; 12];
        for text in says("${random:0..11}", 0..12_000) {
            counts[text.parse::<usize>().unwrap()] += 1;
        }
        // 1000 ± 4 σ of a binomial count.
        assert!(counts.iter().all(|&n| n.abs_diff(1000) < 4 * 31), "{counts:?}");
        for text in says("${random:08..11}", 0..100) {
            assert_eq!(text.len(), 2);
            assert!((8..=11).contains(&text.parse::<u32>().unwrap()));
        }
        let all: Vec<u64> =
            says("${random:0..18446744073709551615}", 0..64).iter().map(|t| t.parse().unwrap()).collect();
        assert!(all.iter().any(|&n| n > u64::MAX / 2) && all.iter().any(|&n| n < u64::MAX / 2));
    }

    #[test]
    fn letters_are_always_the_same_and_as_many_as_asked_for() {
        let text = &says("a${letters:130}b", 0..1)[0];
        assert_eq!((text.len(), &text[..6], &text[63..67], &text[129..]), (132, "a01234", "-_01", "01b"));
        assert!(Numbers::default().read("${letters:9}").unwrap().is_fixed());
    }

    #[test]
    fn all_letters_of_a_request_share_one_limit() {
        let letters = |count: usize| format!("${{letters:{count}}}");
        assert_eq!(check_letters(&letters(MAX_LETTERS / 2).repeat(2), 0), Ok(MAX_LETTERS));
        // Without the limit the next takes 26 GB.
        let many = letters(MAX_LETTERS).repeat(400);
        let error = Numbers::default().read(&many).unwrap_err();
        assert_eq!(error.why, TOO_MANY_LETTERS);
        assert_eq!(Numbers::default().read_answer(&many), Err(error.clone()));
        let mut numbers = Numbers::default();
        numbers.read(&letters(1)).unwrap();
        assert_eq!(numbers.read(&letters(MAX_LETTERS)), Err(error), "the path's count beside the body's");
        let literal = format!("${}", letters(MAX_LETTERS)).repeat(2);
        assert_eq!(check_letters(&literal, 0), Ok(0), "what looks like a placeholder and is none");
    }

    #[test]
    fn two_random_numbers_are_not_the_same_and_a_named_one_is() {
        let differ = says("${random:1..1000}/${random:1..1000}", 0..100);
        let same = |text: &String| text.split_once('/').is_some_and(|(a, b)| a == b);
        assert!(differ.iter().filter(|text| same(text)).count() < 5);
        assert!(says("${id=random:1..1000}/${id}", 0..100).iter().all(same));
    }

    #[test]
    fn an_answer_repeats_the_numbers_of_its_request() {
        let mut numbers = Numbers::default();
        let path = numbers.read("/${id=random:1..9}/${sequence}").unwrap();
        let answer = numbers.read_answer("${sequence} ${id}").unwrap();
        let draw = Draw { seed: 1, request: 41 };
        let (path, answer) = (path.text(&numbers, draw), answer.text(&numbers, draw));
        assert_eq!(answer, format!("42 {}", &path[1..2]));
        assert!(numbers.read_answer("${other}").is_err() && numbers.read_answer("${random:1..2}").is_err());
    }

    #[test]
    fn any_part_can_be_written_alone() {
        let mut numbers = Numbers::default();
        let template = numbers.read("ab${sequence:99}cd${random:1..9}").unwrap();
        let draw = Draw { seed: 0, request: 2 };
        let whole = template.text(&numbers, draw);
        assert_eq!((whole.len(), template.len(&numbers, draw)), (8, 8));
        for from in 0..8 {
            for to in from..10 {
                let mut part = Vec::new();
                template.write(&numbers, draw, &mut TextPart::new(from, to - from, &mut part));
                assert_eq!(part, &whole.as_bytes()[from..to.min(8)]);
            }
        }
    }

    #[test]
    fn a_value_known_before_replaces_its_placeholder_only() {
        let text = "${n} $${n} ${nn} ${n=sequence} ${n}";
        let value = |name: &str| (name == "n").then(|| "20".to_owned());
        assert_eq!(with_values(text, value), "20 $${n} ${nn} ${n=sequence} 20");
    }

    #[test]
    fn a_value_is_what_it_says() {
        let value = |name: &str| (name == "token").then(|| "a${sequence}$${b".to_owned());
        let filled = with_values("x ${token} ${sequence}", value);
        assert_eq!(says(&filled, 0..1), ["x a${sequence}$${b 1"]);
    }

    #[test]
    fn placeholders_and_names_are_told_apart_from_what_looks_like_them() {
        let found: Vec<&str> = placeholders("${a}$${b}${id=random:1..2} ${c ${d").collect();
        assert_eq!(found, ["a", "id=random:1..2"]);
        let names =
            ["token", "_x1", "sequence", "random", "1x", "", "a-b", "id=sequence", "random:1..2", "é"];
        assert_eq!(names.map(is_name), [true, true, false, false, false, false, false, false, false, false]);
    }

    #[test]
    fn bad_placeholders_are_named() {
        for bad in [
            "${",
            "${x}",
            "${}",
            "${random}",
            "${letters:}",
            "${letters:67108865}",
            "${random:5..4}",
            "${random:1..x}",
            "${random:-1..4}",
            "${sequence:x}",
            "${=sequence}",
            "${random:1..99999999999999999999}",
            "${a=random:1..2}${a=sequence}",
        ] {
            let error = Numbers::default().read(bad).unwrap_err();
            assert!(bad.contains(&error.placeholder) && error.to_string().contains("$${"), "{bad}: {error}");
        }
        assert!(Numbers::default().read(&"${random:1..2}".repeat(MAX_PLACEHOLDERS)).is_ok());
        assert!(Numbers::default().read(&"${random:1..2}".repeat(MAX_PLACEHOLDERS + 1)).is_err());
    }
}
