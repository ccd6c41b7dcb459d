//! Functions of a Go program by the table that its own runtime needs (`pclntab`): it stays where symbols are taken out (Go:
//! src/runtime/symtab.go and src/debug/gosym/pclntab.go; as it is since 1.18).
//!
//! The file may say anything. So sizes have limits, every place in the table is looked for within it, and a function counts only where the
//! table names its beginning twice.

use std::collections::{BTreeSet, HashMap};

use object::elf::FileHeader64;
use object::read::ReadCache;
use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{Endianness, ReadRef};

use super::{MAX_NAME, shortened};
use crate::memory::Memory;
use crate::program;

/// Longest program that is looked into, and longest table that is read, in bytes: programs of 300 MB have tables of 80 MB.
const MAX_PROGRAM: u64 = 1 << 30;
const MAX_TABLE: u64 = 1 << 27;
/// Sections that are the table; the second one until Go 1.25, in programs that may be at any address.
const TABLES: [&[u8]; 2] = [b".gopclntab", b".data.rel.ro.gopclntab"];
/// The section that describes a program to its runtime, since Go 1.26.
const DESCRIPTION: &[u8] = b".go.module";
/// What tables begin with: of Go 1.18 and 1.19, and of later ones.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];
/// Bytes of an address, which the head of the table tells.
const POINTER: u8 = 8;
/// Words of the head: how many functions there are, where the code begins (zero since Go 1.26), and where in the table names and functions
/// begin.
const COUNT: usize = 0;
const TEXT: usize = 2;
const NAMES: usize = 3;
const FUNCTIONS: usize = 7;
/// Bytes of the head before its words.
const HEAD: usize = 8;
/// Where the description names the code's beginning, in words; its first word names the table (`moduledata`).
const DESCRIBED_TEXT: usize = 22;

/// Names of the functions at some addresses of a process, as far as its program has such a table; none of a program that is not Go's.
pub(super) fn names(pid: u32, addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
    if addresses.is_empty() {
        return HashMap::new();
    }
    named(pid, addresses).unwrap_or_default()
}

fn named(pid: u32, addresses: &BTreeSet<u64>) -> Option<HashMap<u64, String>> {
    let file = program::open(pid).ok()?;
    let is_read = file.metadata().is_ok_and(|facts| facts.len() <= MAX_PROGRAM);
    let bias = program::bias(pid, &file).filter(|_| is_read)?;
    let file = ReadCache::new(file);
    let found = Found::in_program(&file)?;
    let table = Table::parse(found.table)?;
    let text = text(&Memory::of(pid).ok()?, found, bias)?;
    let name = |address: &u64| {
        let name = table.name(address.checked_sub(text)?)?;
        Some((*address, shortened(&String::from_utf8_lossy(name))))
    };
    Some(addresses.iter().filter_map(name).collect())
}

/// What was found in the file of a program.
#[derive(Clone, Copy)]
struct Found<'f> {
    table: &'f [u8],
    /// Where the table and the description are to be in memory.
    address: u64,
    description: Option<u64>,
}

impl<'f> Found<'f> {
    fn in_program<R: ReadRef<'f>>(file: R) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(file).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, file).ok()?;
        let section = |name: &&[u8]| Some(sections.section_by_name(endian, name)?.1);
        let table = TABLES.iter().find_map(section).filter(|table| table.sh_size(endian) <= MAX_TABLE)?;
        Some(Self {
            table: table.data(endian, file).ok()?,
            address: table.sh_addr(endian),
            description: section(&DESCRIPTION).map(|section| section.sh_addr(endian)),
        })
    }
}

/// Where the code of the program begins. It is read from memory, because the loader may have moved it.
fn text(memory: &Memory, found: Found<'_>, bias: u64) -> Option<u64> {
    let table = found.address.wrapping_add(bias);
    let told = memory.word(table.wrapping_add((HEAD + TEXT * usize::from(POINTER)) as u64))?;
    if told != 0 {
        return Some(told);
    }
    let words: [u64; DESCRIBED_TEXT + 1] = memory.words(found.description?.wrapping_add(bias))?;
    (words[0] == table).then_some(words[DESCRIBED_TEXT])
}

/// A table of functions: for each, ascending, where it begins and where it is described, in 32 bits; then where the last one ends.
struct Table<'b> {
    functions: &'b [u8],
    count: usize,
    names: &'b [u8],
}

impl<'b> Table<'b> {
    /// The table that some bytes are; `None` where they are none of a kind that is known.
    fn parse(bytes: &'b [u8]) -> Option<Self> {
        let is_known = MAGIC.contains(&half(bytes, 0)?) && *bytes.get(HEAD - 1)? == POINTER;
        let word = |number: usize| {
            let word = bytes.get(HEAD + number * usize::from(POINTER)..)?.first_chunk()?;
            usize::try_from(u64::from_le_bytes(*word)).ok()
        };
        let (count, names, functions) = (word(COUNT)?, word(NAMES)?, word(FUNCTIONS)?);
        let (names, functions) = (bytes.get(names..)?, bytes.get(functions..)?);
        let is_whole = count < functions.len() / 8;
        (is_known && is_whole).then_some(Self { functions, count, names })
    }

    /// The name of the function at an offset in the code, as far as names are kept; `None` where there is none.
    fn name(&self, offset: u64) -> Option<&'b [u8]> {
        let offset = u32::try_from(offset).ok()?;
        let number = self.begun(offset).checked_sub(1).filter(|number| *number < self.count)?;
        let described = half(self.functions, number * 8 + 4)? as usize;
        let is_same = half(self.functions, described)? == self.begin(number)?;
        let name = half(self.functions, described.checked_add(4)?).filter(|_| is_same)?;
        let name = self.names.get(name as usize..)?;
        // One byte more than is kept, so that it is seen that there are more.
        let name = &name[..name.len().min(MAX_NAME + 1)];
        let name = name.split(|byte| *byte == 0).next()?;
        (!name.is_empty()).then_some(name)
    }

    /// How many functions begin at an offset or before it; the end of the last counts as one.
    fn begun(&self, offset: u32) -> usize {
        let (mut low, mut high) = (0, self.count + 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.begin(middle) {
                Some(begin) if begin <= offset => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    fn begin(&self, number: usize) -> Option<u32> {
        half(self.functions, number.checked_mul(8)?)
    }
}

/// The 32 bits at a place.
fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table of functions that begin at 0, 16 and 48 and end at 64, as the linker writes them.
    fn table() -> Vec<u8> {
        let names = b"\0main.main\0runtime.mallocgc\0main.(*T).\xc3\xb6\0";
        let head = HEAD + 8 * 8;
        let mut bytes = MAGIC[1].to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, POINTER]);
        let words = [3, 0, 0, head, 0, 0, 0, head + names.len()];
        words.iter().for_each(|word| bytes.extend((*word as u64).to_le_bytes()));
        bytes.extend(names);
        let described = 3 * 8 + 4;
        for (number, begin) in [0_u32, 16, 48].iter().enumerate() {
            bytes.extend(begin.to_le_bytes());
            bytes.extend((described + number as u32 * 8).to_le_bytes());
        }
        bytes.extend(64_u32.to_le_bytes());
        for (begin, name) in [(0_u32, 1_u32), (16, 11), (48, 28)] {
            bytes.extend(begin.to_le_bytes());
            bytes.extend(name.to_le_bytes());
        }
        bytes
    }

    /// Everything that bytes tell as a table.
    fn told(bytes: &[u8], offsets: impl Iterator<Item = u64>) -> Vec<Option<String>> {
        let Some(table) = Table::parse(bytes) else { return Vec::new() };
        let name = |offset| table.name(offset).map(|name| String::from_utf8_lossy(name).into_owned());
        offsets.map(name).collect()
    }

    #[test]
    fn a_function_is_found_by_any_place_in_it() {
        let bytes = table();
        let names = told(&bytes, [0, 15, 16, 47, 48, 63, 64, u64::MAX].into_iter());
        let names: Vec<_> = names.iter().map(Option::as_deref).collect();
        let [first, second, third] = [Some("main.main"), Some("runtime.mallocgc"), Some("main.(*T).ö")];
        assert_eq!(names, [first, first, second, second, third, third, None, None]);
        let mut older = bytes.clone();
        older[..4].copy_from_slice(&MAGIC[0].to_le_bytes());
        assert_eq!(told(&older, [0].into_iter()), [Some("main.main".to_owned())]);
        let mut unknown = bytes;
        unknown[0] = 0xfb;
        assert!(Table::parse(&unknown).is_none(), "of Go 1.17 and before");
    }

    #[test]
    fn a_table_that_is_cut_anywhere_tells_less_and_nothing_else() {
        let bytes = table();
        let whole = told(&bytes, 0..80);
        for end in 0..bytes.len() {
            let cut = told(&bytes[..end], 0..80);
            let differs = |(cut, whole): (&Option<String>, &Option<String>)| cut.is_some() && cut != whole;
            assert!(!cut.iter().zip(&whole).any(differs), "{end}: {cut:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..16),
            offsets in prop::collection::vec(any::<u64>(), 1..8),
        ) {
            let mut bytes = table();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let names = told(&bytes, offsets.into_iter().chain(0..80));
            prop_assert!(names.iter().flatten().all(|name| name.chars().count() <= MAX_NAME + 1));
            let file = bytes.as_slice();
            prop_assert!(Found::in_program(file).is_none(), "no program");
        }
    }
}
