//! The log of V8, in which it writes down what it compiles and moves, where it was told to (`node --log-code`; v8: src/logging/log.cc).
//!
//! It says more than a perf map, because that is silent about what is moved, and lies where whoever starts the program wants it, not
//! where anybody may write.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::shortened;
use super::written::Writer;

/// Code that V8 has compiled.
#[derive(Clone, Debug)]
struct Code<'l> {
    bytes: u64,
    kind: &'l str,
    name: String,
}

/// Code by the address at which it begins. No two overlap: the later one is what is there now.
#[derive(Default)]
struct Placed<'l>(BTreeMap<u64, Code<'l>>);

/// Names of the functions at some addresses of a process, as far as its log has them; none where it was not told to write one for each
/// process alone.
///
/// # Errors
/// When the log is not to be believed, or cannot be read.
pub(super) fn names(writer: &Writer, addresses: &BTreeSet<u64>) -> Result<HashMap<u64, String>, String> {
    match path(&writer.arguments, writer.own_pid) {
        Some(path) => writer.read(&path, |log| named(log, addresses)),
        None => Ok(HashMap::new()),
    }
}

/// Where a program with these arguments writes its log. `None` where each isolate has one under a name that cannot be foreseen, or all
/// processes the same.
fn path(arguments: &[String], pid: i32) -> Option<String> {
    let options: Vec<(String, Option<&str>)> = arguments.iter().filter_map(|word| option(word)).collect();
    let is_one = |(name, _): &(String, Option<&str>)| {
        ["no-logfile-per-isolate", "nologfile-per-isolate"].contains(&name.as_str())
    };
    options.iter().find(|option| is_one(option))?;
    let (_, pattern) = options.iter().rev().find(|(name, _)| name == "logfile")?;
    let path = pattern.filter(|pattern| pattern.contains("%p"))?.replace("%p", &pid.to_string());
    Some(path).filter(|path| !path.contains('%'))
}

/// The name and value of an option; V8 takes `_` for `-` in names.
fn option(word: &str) -> Option<(String, Option<&str>)> {
    let word = word.strip_prefix("--")?;
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    Some((name.replace('_', "-"), value))
}

/// The names of addresses in lines that tell, in the order in which it happened, what was compiled and moved where. Other lines, and the
/// last one of a log that is being written, say nothing.
fn named(log: &[u8], addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
    let mut placed = Placed::default();
    for line in log.split(|byte| *byte == b'\n') {
        if let Ok(line) = std::str::from_utf8(line) {
            placed.follow(line);
        }
    }
    let name = |address: &u64| placed.at(*address).map(|code| (*address, code.called()));
    addresses.iter().filter_map(name).collect()
}

impl<'l> Placed<'l> {
    fn follow(&mut self, line: &'l str) -> Option<()> {
        let (what, rest) = line.split_once(',')?;
        match what {
            "code-creation" => {
                // The tag, its tier, when, where, how long, and what is left is the name with what else is known of it.
                let mut fields = rest.splitn(6, ',');
                let kind = fields.next()?;
                let start = address(fields.nth(2)?)?;
                let bytes = fields.next()?.parse().ok()?;
                self.place(start, Code { bytes, kind, name: name(fields.next()?) });
            }
            "code-move" => {
                let (from, to) = rest.split_once(',')?;
                let code = self.0.remove(&address(from)?)?;
                self.place(address(to)?, code);
            }
            _ => {}
        }
        Some(())
    }

    fn place(&mut self, start: u64, code: Code<'l>) {
        let end = start.saturating_add(code.bytes);
        let before =
            self.0.range(..start).next_back().filter(|(at, code)| at.saturating_add(code.bytes) > start);
        let gone: Vec<u64> = before.into_iter().chain(self.0.range(start..end)).map(|(at, _)| *at).collect();
        for at in gone {
            self.0.remove(&at);
        }
        self.0.insert(start, code);
    }

    fn at(&self, address: u64) -> Option<&Code<'l>> {
        let (start, code) = self.0.range(..=address).next_back()?;
        (address - start < code.bytes).then_some(code)
    }
}

impl Code<'_> {
    /// Its name as a perf map has it.
    fn called(&self) -> String {
        shortened(&format!("{}:{}", self.kind, self.name))
    }
}

/// The name of a function with the mark of its tier before it, of what stands last in its line: the name, and for a function of a
/// program its address and tier. A name may contain commas itself.
fn name(rest: &str) -> String {
    let mut fields = rest.rsplitn(3, ',');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(tier), Some(function), Some(name)) if tier.len() <= 1 && function.starts_with("0x") => {
            format!("{tier}{name}")
        }
        _ => rest.to_owned(),
    }
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<const N: usize>(log: &str, addresses: [u64; N]) -> [Option<String>; N] {
        let mut names = named(log.as_bytes(), &addresses.into());
        addresses.map(|address| names.remove(&address))
    }

    #[test]
    fn functions_are_found_where_they_were_compiled_last() {
        let log = "v8-version,11,3\n\
                   code-creation,JS,13,100,0x1000,32,handle /srv/a b.js:4:2,0x77,*\n\
                   code-creation,JS,11,100,0x2000,16, /srv/a.js:9:1,0x78,^\n\
                   code-creation,Builtin,2,100,0x3000,16,ArgumentsAdaptor\n\
                   code-creation,JS,13,110,0x4000,16,with,commas /srv/a.js:1:1,0x79,*\n\
                   code-creation,JS,10,110,0x5000,16,cut";
        let [optimised, end, anonymous, builtin, commas, cut] =
            found(log, [0x101f, 0x1020, 0x2000, 0x300f, 0x4000, 0x5000]);
        assert_eq!(optimised.as_deref(), Some("JS:*handle /srv/a b.js:4:2"));
        assert_eq!(end, None);
        assert_eq!(anonymous.as_deref(), Some("JS:^ /srv/a.js:9:1"));
        assert_eq!(builtin.as_deref(), Some("Builtin:ArgumentsAdaptor"));
        assert_eq!(commas.as_deref(), Some("JS:*with,commas /srv/a.js:1:1"));
        assert_eq!(cut.as_deref(), Some("JS:cut"));
    }

    #[test]
    fn code_that_moved_is_where_it_went_and_what_took_its_place_counts() {
        let log = "code-creation,JS,13,1,0x1000,32,old,0x1,*\n\
                   code-creation,JS,13,2,0x9000,32,moved,0x2,*\n\
                   code-move,0x9000,0x1010\n\
                   code-move,0x7777,0x1000\n\
                   code-creation,JS,13,3,0x100f,1,wedge,0x3,*";
        let [first, before, moved, gone] = found(log, [0x1000, 0x100f, 0x102f, 0x9000]);
        assert_eq!(first, None, "what was there is overwritten in part");
        assert_eq!(before.as_deref(), Some("JS:*wedge"));
        assert_eq!(moved.as_deref(), Some("JS:*moved"));
        assert_eq!(gone, None);
    }

    #[test]
    fn lines_that_are_none_say_nothing() {
        let log = "code-creation\ncode-creation,JS,13,1,1000,32,no,0x1,*\ncode-creation,JS,13,1,0x10,-1,no,0x1,*\n\
                   code-move,0x1\ncode-move,,\n,,,\ncode-creation,JS,13,1,0xffffffffffffffff,18446744073709551615,last,0x1,*";
        let [low, last] = found(log, [0x10, u64::MAX]);
        assert_eq!((low, last.as_deref()), (None, Some("JS:*last")));
    }

    #[test]
    fn the_log_is_where_the_command_line_says_if_each_process_has_its_own() {
        let path =
            |words: &[&str]| path(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), 42);
        let own = ["node", "--log-code", "--logfile=/s/v8-%p.log", "--no-logfile-per-isolate", "server.js"];
        assert_eq!(path(&own).as_deref(), Some("/s/v8-42.log"));
        let spelt = ["node", "--logfile=a%p", "--nologfile_per_isolate"];
        assert_eq!(path(&spelt).as_deref(), Some("a42"));
        assert_eq!(path(&["node", "--logfile=/s/v8-%p.log"]), None);
        assert_eq!(path(&["node", "--logfile=/s/v8.log", "--no-logfile-per-isolate"]), None);
        assert_eq!(path(&["node", "--logfile=/s/%p-%t.log", "--no-logfile-per-isolate"]), None);
        assert_eq!(path(&["node", "--no-logfile-per-isolate"]), None);
    }
}
