//! The perf map of a process: names that a runtime writes down of what it compiles (kernel: tools/perf/Documentation/jit-interface.txt).

use std::collections::{BTreeSet, HashMap};

use super::shortened;
use super::written::Writer;

/// Names of the functions at some addresses of a process, as far as its map has them; none where there is no map.
///
/// # Errors
/// When the map is not to be believed, or cannot be read.
pub(super) fn names(writer: &Writer, addresses: &BTreeSet<u64>) -> Result<HashMap<u64, String>, String> {
    writer.read(&format!("/tmp/perf-{}.map", writer.own_pid), |map| named(map, addresses))
}

/// The names of addresses in lines of a start, a size and a name, both numbers in hexadecimal. What was compiled later stands further
/// down, and is what is there now: so from the end on, each address is named once, however many lines hold it. A line that is no such
/// line says nothing, as the last one of a map that is being written.
fn named(map: &[u8], addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
    let (mut names, mut left) = (HashMap::new(), addresses.clone());
    for (start, size, name) in map.rsplit(|byte| *byte == b'\n').filter_map(parsed) {
        let within: Vec<u64> = left.range(start..start.saturating_add(size)).copied().collect();
        for address in within {
            left.remove(&address);
            names.insert(address, shortened(name));
        }
    }
    names
}

fn parsed(line: &[u8]) -> Option<(u64, u64, &str)> {
    let (start, rest) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    Some((number(start)?, number(size)?, name)).filter(|(_, _, name)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_address_in_them_and_the_last_that_was_compiled_there_counts() {
        let map = b"7f00 10 LazyCompile:old\nno line\nzz 10 broken\n7f00 20 JS:*handle /srv/a b.js:4\n7fff ffffffffffffffff all\n\xff\xfe\n9000 8 cut";
        let addresses = [0x7eff, 0x7f00, 0x7f1f, 0x7f20, 0x9007, u64::MAX].into();
        let names = named(map, &addresses);
        let name = |address| names.get(&address).map(String::as_str);
        assert_eq!([name(0x7f00), name(0x7f1f)], [Some("JS:*handle /srv/a b.js:4"); 2]);
        assert_eq!([name(0x7eff), name(0x7f20), name(u64::MAX)], [None; 3]);
        assert_eq!(name(0x9007), Some("cut"));
    }
}
