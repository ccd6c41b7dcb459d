//! Secrets of the user's that must not be repeated: not in messages, nor in log tails, records and pages.
//!
//! What looks like a secret is in the environment, from which programs take and print it; what a command prints before a load
//! is another. It is hidden by its value, wherever it comes from; the passwords of URLs, and what variables with telling names are set
//! to in a command, are hidden by their place too. A secret that was changed on its way, say encoded in Base64, is not found: this is a
//! net below those who print what they should not, and no wall.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use assay_model::foreign::Foreign;
use percent_encoding::percent_decode_str;

/// Values that are shorter would be found where they are not meant: `1`, `true`, `admin`.
const LEAST_CHARS: usize = 6;
/// Parts of the names of variables that hold secrets.
const TELLING: [&str; 9] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "CREDENTIAL",
    "CONNECTION_STRING",
    "CONNECTIONSTRING",
];
/// Ends of the words in such names: `KEY` in `API_KEY` and `APIKEY_2`, but not in `KEYBOARD`.
const TELLING_ENDS: [&str; 6] = ["KEY", "KEYS", "AUTH", "PASS", "PWD", "CREDS"];
/// Variables in which a shell keeps folders (POSIX.1-2017, 2.5.3), which are no passwords as `MYSQL_PWD` is.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];
/// Last words in the names of those that tell where a secret is, not what it is.
const PLACES: [&str; 4] = ["DIR", "FILE", "PATH", "SOCK"];
/// Fields of HTTP that hold credentials, beside those with telling names (RFC 9110 §11.6.2 and §11.7.2, RFC 6265 §5.4).
const FIELDS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
/// What stands in the place of a password.
const HIDDEN: &str = "[hidden]";
/// How all begins that stands in the place of a secret.
const MARK: &str = "[hidden";

/// A part of a text: from byte to byte.
type ByteRange = (usize, usize);

/// What must not be repeated. Clones know the same, also what is learnt later; it shows nothing of what it holds.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    /// Values, and by what each is replaced.
    all: Vec<(String, String)>,
    /// Finds them; absent where there is none.
    searcher: Option<AhoCorasick>,
}

impl Secrets {
    /// The secrets among variables of an environment.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut found: Vec<(String, String)> = Vec::new();
        for (name, value) in variables {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let values = if is_telling(&name) { lines(&value) } else { Vec::new() };
            let all = values.into_iter().chain(passwords(&value));
            found.extend(all.map(|value| (value, name.clone().into_owned())));
        }
        let secrets = Self::default();
        secrets.learn(found);
        secrets
    }

    /// Takes values with their names for secrets from now on.
    pub fn learn(&self, values: impl IntoIterator<Item = (String, String)>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.all.len();
        for (value, name) in values {
            if value.chars().count() >= LEAST_CHARS && known.all.iter().all(|(other, _)| *other != value) {
                known.all.push((value, format!("[hidden: {name}]")));
            }
        }
        if known.all.len() > before {
            let values = known.all.iter().map(|(value, _)| value);
            // The longest at a place, because one secret may begin with another; what replaces them is not looked at again.
            // It fails only for gigabytes of values, which no environment has (execve(2)) and no command may print.
            known.searcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).ok();
        }
    }

    /// Takes the credentials in fields of HTTP, given as names with values, for secrets from now on.
    pub fn learn_fields<'f>(&self, fields: impl IntoIterator<Item = (&'f str, &'f str)>) {
        let telling = fields.into_iter().filter(|(name, _)| is_telling_field(name));
        self.learn(
            telling.flat_map(|(name, value)| credentials(value).into_iter().map(|of| (of, name.to_owned()))),
        );
    }

    /// What a contender was named by without the secrets in it; those that it shows by their places are known from now on.
    pub(crate) fn learn_and_hide(&self, text: &str) -> String {
        self.learn(passwords(text).map(|password| (password, "contender".to_owned())));
        self.hide(text).into_owned()
    }

    /// `text` without the secrets in it.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(searcher) = known.searcher.as_ref().filter(|searcher| searcher.is_match(text)) else {
            return without_passwords(text);
        };
        let replacements: Vec<&str> = known.all.iter().map(|(_, replacement)| replacement.as_str()).collect();
        let replaced = searcher.replace_all(text, &replacements);
        Cow::Owned(without_passwords(&replaced).into_owned())
    }

    /// Hides them in everything that others wrote.
    pub fn hide_in(&self, whole: &mut impl Foreign) {
        whole.each_text(&mut |text| {
            if let Cow::Owned(hidden) = self.hide(text) {
                *text = hidden;
            }
        });
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secrets")
    }
}

/// Whether a variable of this name holds a secret.
pub(crate) fn is_telling(name: &str) -> bool {
    if FOLDERS.contains(&name) {
        return false;
    }
    let name = name.to_uppercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphabetic()).collect();
    let is_place = words.last().is_some_and(|last| PLACES.contains(last));
    let ends = |word: &&str| TELLING_ENDS.iter().any(|end| word.ends_with(end));
    !is_place && (TELLING.iter().any(|part| name.contains(part)) || words.iter().any(ends))
}

/// Whether a field of HTTP of this name holds credentials.
pub(crate) fn is_telling_field(name: &str) -> bool {
    FIELDS.contains(&&*name.to_lowercase()) || is_telling(name)
}

/// The value of a field that holds credentials, those behind a scheme such as `Bearer`, and those of each cookie. What is put in their
/// places when all are known is no secret.
fn credentials(value: &str) -> Vec<String> {
    let placeholder = |text: &str| text.contains("${");
    let is_scheme = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let behind_scheme =
        value.trim().split_once(' ').filter(|(word, _)| is_scheme(word)).map(|(_, token)| token);
    let cookies = value.split(';').filter_map(|cookie| Some(cookie.split_once('=')?.1));
    let all = std::iter::once(value).chain(behind_scheme).chain(cookies).map(str::trim);
    all.filter(|text| !placeholder(text)).map(str::to_owned).collect()
}

/// A value of several lines, such as a private key, is met line by line in logs.
fn lines(value: &str) -> Vec<String> {
    value.lines().map(|line| line.trim().to_owned()).collect()
}

/// The passwords that a text shows by their places, as they stand there and decoded (RFC 3986 §2.1).
fn passwords(text: &str) -> impl Iterator<Item = String> {
    let of = |(start, end): (usize, usize)| {
        let raw = &text[start..end];
        [raw.to_owned(), percent_decode_str(raw).decode_utf8_lossy().into_owned()]
    };
    places(text).into_iter().flat_map(of)
}

/// `text` without the passwords that it shows by their places, whatever they are.
fn without_passwords(text: &str) -> Cow<'_, str> {
    let places = places(text);
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (start, end) in places {
        out += &text[done..start];
        out += HIDDEN;
        done = end;
    }
    Cow::Owned(out + &text[done..])
}

/// Where passwords stand in a text, in order.
fn places(text: &str) -> Vec<ByteRange> {
    let mut places = in_urls(text);
    places.extend(in_queries(text));
    places.extend(assigned(text));
    places.sort_unstable();
    // A variable may be set to a URL, and a parameter look like a variable.
    places.dedup_by(|next, last| {
        let is_within = next.0 < last.1;
        if is_within {
            last.1 = last.1.max(next.1);
        }
        is_within
    });
    places.retain(|(from, to)| from < to && !text[*from..*to].starts_with(MARK));
    places
}

/// Where passwords stand in the URLs of a text.
fn in_urls(text: &str) -> Vec<ByteRange> {
    let mut places = Vec::new();
    for (at, mark) in text.match_indices("://") {
        let start = at + mark.len();
        let url = text[start..].split(ends_url).next().unwrap_or_default();
        // A list of URLs without a space between them is parted where the next one begins.
        let url = &url[..url.find("://").unwrap_or(url.len())];
        let user = user_info(url);
        places.extend(user.map(|(from, to)| (start + from, start + to)));
        let rest = user.map_or(0, |(_, to)| to);
        places.extend(parameters(&url[rest..]).map(|(from, to)| (start + rest + from, start + rest + to)));
    }
    places
}

/// Where parameters with telling names stand behind a path alone: `--path '/users?token=…'`.
fn in_queries(text: &str) -> impl Iterator<Item = ByteRange> {
    text.match_indices('?').flat_map(|(at, _)| {
        let query = text[at..].split(ends_url).next().unwrap_or_default();
        parameters(query).map(move |(from, to)| (at + from, at + to))
    })
}

/// What ends a URL within a text.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// The password of `user:password@host`. One that is not encoded as it should be may hold a slash or a question mark; then what
/// stands behind the colon is no port.
fn user_info(url: &str) -> Option<ByteRange> {
    let colon = url.find(':')?;
    let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
    let at = match url[..authority].rfind('@') {
        Some(at) => at,
        None if url[colon + 1..authority.max(colon + 1)].bytes().all(|b| b.is_ascii_digit()) => return None,
        None if url.starts_with('[') => return None,
        None => url.rfind('@')?,
    };
    (colon < at).then_some((colon + 1, at))
}

/// The values of the parameters with telling names. One lasts until the next parameter, or the fragment; in an access token of OAuth
/// the fragment is one itself (RFC 6749 §4.2.2).
fn parameters(url: &str) -> impl Iterator<Item = ByteRange> {
    let begins = |at: usize| at > 0 && matches!(url.as_bytes()[at - 1], b'?' | b'&' | b'#');
    let offset = |part: &str| part.as_ptr().addr() - url.as_ptr().addr();
    url.split(['&', '#']).filter_map(move |whole| {
        let mut parts = whole.split('?').map(|part| (offset(part), part.split_once('=')));
        let value = parts.find_map(|(at, split)| {
            let (name, _) = split?;
            (begins(at) && is_telling(name)).then_some(at + name.len() + 1)
        })?;
        Some((value, offset(whole) + whole.len()))
    })
}

/// What variables of an environment are set to whose names are telling: `DB_PASSWORD=… exec ./server`. They are known by their capitals
/// (POSIX.1-2017, 8.1); what has a small letter may be a field of a form, or of a log.
fn assigned(text: &str) -> Vec<ByteRange> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_variable = |name: &str| !name.contains(char::is_lowercase) && is_telling(name);
    let (mut places, mut done) = (Vec::new(), 0);
    while let Some(length) = text[done..].find('=') {
        let before = &text[done..done + length];
        let start = done + length + 1;
        let outside = before.trim_end_matches(is_word);
        done = start;
        if is_variable(&before[outside.len()..]) {
            done += value_length(&text[start..], outside.chars().next_back());
            places.push((start, done));
        }
    }
    places
}

/// How long the value is with which a text begins, as a shell reads it; `around` stands before the name and ends it if it is a quotation
/// mark. A value of another variable is none of its own.
fn value_length(text: &str, around: Option<char>) -> usize {
    if text.starts_with('$') {
        return 0;
    }
    let (mut quoted, mut is_escaped) = (None, false);
    let mut is_end = |(at, c): (usize, char)| {
        match (quoted, c) {
            _ if is_escaped => is_escaped = false,
            (Some(mark), _) if c == mark => quoted = None,
            (None, '\'' | '"') if Some(c) != around && text[at + 1..].contains(c) => quoted = Some(c),
            (None, '\'' | '"' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => return true,
            (None, _) if c.is_whitespace() => return true,
            (None | Some('"'), '\\') => is_escaped = true,
            _ => {}
        }
        false
    };
    text.char_indices().find(|&at| is_end(at)).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(variables: &[(&str, &str)]) -> Secrets {
        Secrets::of(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn values_are_hidden_by_the_names_of_their_variables() {
        let known = secrets(&[
            ("GITHUB_TOKEN", "ghp_0123456789"),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG"),
            ("MY_APIKEY_2", "abcdef-ghijkl"),
            ("npm_config__auth", "dXNlcjpwYXNz"),
            ("TLS_KEY", "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ\n-----END KEY-----\n"),
            ("DEBUG_TOKEN", "1"),
            ("KEYBOARD_LAYOUT", "dvorak-us"),
            ("EDITOR", "emacs-nox"),
            ("SSH_AUTH_SOCK", "/tmp/agent.1"),
        ]);
        for (text, wanted) in [
            (
                "token ghp_0123456789, twice ghp_0123456789",
                "token [hidden: GITHUB_TOKEN], twice [hidden: GITHUB_TOKEN]",
            ),
            ("key=wJalrXUtnFEMI/K7MDENG;", "key=[hidden: AWS_SECRET_ACCESS_KEY];"),
            ("abcdef-ghijkl dXNlcjpwYXNz", "[hidden: MY_APIKEY_2] [hidden: npm_config__auth]"),
            ("2: MIIEvQIBADANBg", "2: [hidden: TLS_KEY]"),
            ("1 dvorak-us emacs-nox /tmp/agent.1 ghp_01234", "1 dvorak-us emacs-nox /tmp/agent.1 ghp_01234"),
        ] {
            assert_eq!(known.hide(text), wanted);
        }
        assert!(!format!("{known:?}").contains("ghp"));
    }

    #[test]
    fn what_is_learnt_later_is_known_to_all_clones() {
        let known = secrets(&[("A_TOKEN", "abcdef")]);
        let clone = known.clone();
        known.learn([("ghijkl".to_owned(), "session".to_owned()), ("1".to_owned(), "id".to_owned())]);
        assert_eq!(clone.hide("abcdef ghijkl 1"), "[hidden: A_TOKEN] [hidden: session] 1");
    }

    #[test]
    fn the_credentials_of_fields_are_hidden_and_other_fields_are_not() {
        let known = Secrets::default();
        known.learn_fields([
            ("Authorization", "Bearer eyJhbGciOi"),
            ("x-api-key", "0123456789"),
            ("Cookie", "theme=dark; session=abcdef0123"),
            ("X-Session-Token", "${token}"),
            ("Accept", "application/json"),
        ]);
        for (text, wanted) in [
            ("-H Authorization: Bearer eyJhbGciOi", "-H Authorization: [hidden: Authorization]"),
            ("got eyJhbGciOi, 0123456789", "got [hidden: Authorization], [hidden: x-api-key]"),
            ("session=abcdef0123 of theme=dark", "session=[hidden: Cookie] of theme=dark"),
            ("${token} application/json", "${token} application/json"),
        ] {
            assert_eq!(known.hide(text), wanted);
        }
    }

    #[test]
    fn of_secrets_that_begin_alike_the_longest_is_hidden_and_what_is_put_there_is_left_alone() {
        let known = secrets(&[("A_TOKEN", "abcdef"), ("B_TOKEN", "abcdefghij"), ("C_TOKEN", "hidden")]);
        assert_eq!(
            known.hide("abcdefghij abcdef hidden"),
            "[hidden: B_TOKEN] [hidden: A_TOKEN] [hidden: C_TOKEN]"
        );
    }

    #[test]
    fn the_password_of_a_url_in_any_variable_is_hidden_as_written_and_decoded() {
        let known = secrets(&[("CACHE", "redis://:p%40ssw0rd@host/0"), ("PLAIN", "http://host/a@b")]);
        assert_eq!(
            known.hide("p%40ssw0rd or p@ssw0rd at host"),
            "[hidden: CACHE] or [hidden: CACHE] at host"
        );
    }

    #[test]
    fn passwords_are_hidden_by_their_place_in_a_url() {
        for (text, wanted) in [
            ("postgres://u:pw@h:5432/db", "postgres://u:[hidden]@h:5432/db"),
            ("see 'http://u:p:w@h/' and http://u@h/", "see 'http://u:[hidden]@h/' and http://u@h/"),
            ("u:p/w: postgres://u:p/w?x@h/db", "u:p/w: postgres://u:[hidden]@h/db"),
            ("a://x:1@y,b://x:2@y", "a://x:[hidden]@y,b://x:[hidden]@y"),
            ("a://h/d?user=u&password=pw&x=1", "a://h/d?user=u&password=[hidden]&x=1"),
            ("http://h:80/a@b http://h/a:b@c ftp://h", "http://h:80/a@b http://h/a:b@c ftp://h"),
            ("http://[::1]:80/a http://[::1]/?x=@", "http://[::1]:80/a http://[::1]/?x=@"),
            ("a://h/?x=1&access_token=T&api_key=K#f", "a://h/?x=1&access_token=[hidden]&api_key=[hidden]#f"),
            ("--path '/x?token=T&y=z' -c 8", "--path '/x?token=[hidden]&y=z' -c 8"),
            ("GET /x?y=z&access_token=T", "GET /x?y=z&access_token=[hidden]"),
            ("Who has a token? It=T", "Who has a token? It=T"),
            ("a://h/?to=b?Pwd=p&monk=y#token=t", "a://h/?to=b?Pwd=[hidden]&monk=y#token=[hidden]"),
            ("a://h/token=t?pass=[hidden: X Y]", "a://h/token=t?pass=[hidden: X Y]"),
            ("a://u:[hidden]@h ://:@ é://é:é@é", "a://u:[hidden]@h ://:@ é://é:[hidden]@é"),
        ] {
            assert_eq!(Secrets::default().hide(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_variables_with_telling_names_are_set_to_is_hidden_in_commands() {
        for (text, wanted) in [
            ("DB_PASSWORD=INLINE exec ./a PORT=1", "DB_PASSWORD=[hidden] exec ./a PORT=1"),
            ("A_KEY='x y'\"z \\\" z\"\\ z;b", "A_KEY=[hidden];b"),
            ("sh -c 'SMTP_PASS=x' && \"A_KEY=y\"", "sh -c 'SMTP_PASS=[hidden]' && \"A_KEY=[hidden]\""),
            ("docker -e A_TOKEN=B_TOKEN=x|b", "docker -e A_TOKEN=[hidden]|b"),
            ("DB_URL=a://u:p@h A_SECRET=a://u:p@h", "DB_URL=a://u:[hidden]@h A_SECRET=[hidden]"),
            ("A_KEY=$A_KEY B_KEY=${B} C_KEY= d", "A_KEY=$A_KEY B_KEY=${B} C_KEY= d"),
            ("PWD=/a OLDPWD=/b key=c a_KEY=d é_KEY=e", "PWD=/a OLDPWD=/b key=c a_KEY=d é_KEY=e"),
            ("A_KEY=[hidden: A_KEY] b", "A_KEY=[hidden: A_KEY] b"),
        ] {
            let hidden = Secrets::default().hide(text).into_owned();
            assert_eq!(hidden, wanted, "{text}");
            assert_eq!(Secrets::default().hide(&hidden), wanted, "once and for all");
        }
        let known = secrets(&[("command line", "DB_PASSWORD=INLINE exec ./a")]);
        assert_eq!(known.hide("it said INLINE"), "it said [hidden: command line]");
    }

    #[test]
    fn names_that_are_common_for_secrets_are_telling() {
        let telling = "DB_PASS MYSQL_PWD SMTPPASS AWS_CREDS PASSCODE AZURE_CONNECTION_STRING GOOGLE_CREDENTIALS \
                       ConnectionStrings__Main pwd access_token api_key";
        assert!(telling.split_whitespace().all(is_telling));
        let silent = "PWD OLDPWD PASSENGER_APP PGPASSFILE PATH AUTHOR DB_PASS_FILE";
        assert!(!silent.split_whitespace().any(is_telling));
    }

    #[test]
    fn whatever_stands_behind_a_scheme_is_hidden_once_and_for_all() {
        let pieces = [":", "/", "@", "[", "?password=", "é", " ", "://", "A_KEY="];
        for number in 0..pieces.len().pow(5) {
            let digit = |place: u32| pieces[number / pieces.len().pow(place) % pieces.len()];
            let text = format!("a://{}", (0..5).map(digit).collect::<String>());
            let once = without_passwords(&text).into_owned();
            assert_eq!(without_passwords(&once), once, "{text}");
        }
    }
}
