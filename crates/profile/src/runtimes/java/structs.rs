//! How HotSpot lays out what it keeps, as each build of it tells debuggers (`gHotSpotVMStructs` in runtime/vmStructs.cpp).

use std::collections::HashMap;

use crate::memory::Memory;
use crate::variables::Variables;

/// Most entries of a table that are read: builds have less than a thousand.
const MAX_ENTRIES: u64 = 1 << 13;
/// Most bytes of an entry, and of a name.
const MAX_ENTRY: u64 = 256;
const MAX_NAME: usize = 64;

/// What a build tells of its types.
#[derive(Debug, Default)]
pub(super) struct Structs {
    /// Fields by their types and names.
    fields: HashMap<(String, String), Field>,
    /// Types with their sizes in bytes.
    sizes: HashMap<String, u64>,
}

/// A field.
#[derive(Clone, Debug)]
struct Field {
    /// What it holds, in C++.
    holds: String,
    /// Where it stands in its type.
    offset: u64,
    /// Where it is, if it is static.
    address: u64,
}

/// A table of HotSpot's: entries of one length, each with numbers at places that are told beside it.
struct Table<'m> {
    memory: &'m Memory,
    begin: u64,
    bytes: u64,
    /// Names that were read, by their addresses.
    names: HashMap<u64, String>,
}

impl Structs {
    /// Reads both tables, of fields and of types; `None` where there are none.
    pub(super) fn read(memory: &Memory, variables: &Variables) -> Option<Self> {
        let value = |name: &str| memory.word(variables.address(name)?);
        Some(Self { fields: fields(memory, value)?, sizes: sizes(memory, value)? })
    }

    /// Where a field stands in its type.
    pub(super) fn offset(&self, of_type: &str, name: &str) -> Option<u64> {
        self.field(of_type, name).map(|field| field.offset)
    }

    /// Where a static field is, under the first of these names that the build knows.
    pub(super) fn address(&self, of_type: &str, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.field(of_type, name)).map(|field| field.address)
    }

    /// What a field holds, in C++.
    pub(super) fn holds(&self, of_type: &str, name: &str) -> Option<&str> {
        self.field(of_type, name).map(|field| field.holds.as_str())
    }

    /// The size of a type in bytes.
    pub(super) fn size(&self, of_type: &str) -> Option<u64> {
        self.sizes.get(of_type).copied()
    }

    fn field(&self, of_type: &str, name: &str) -> Option<&Field> {
        self.fields.get(&(of_type.to_owned(), name.to_owned()))
    }
}

fn fields(memory: &Memory, value: impl Fn(&str) -> Option<u64>) -> Option<HashMap<(String, String), Field>> {
    let place = |of: &str| place(value(&format!("gHotSpotVMStructEntry{of}Offset")));
    let (of_type, name, holds) = (place("TypeName")?, place("FieldName")?, place("TypeString")?);
    let (offset, address) = (place("Offset")?, place("Address")?);
    let mut table = Table::of(memory, value("gHotSpotVMStructs"), value("gHotSpotVMStructEntryArrayStride"))?;
    let field = |number| {
        let key = (table.name(number, of_type)?, table.name(number, name)?);
        let holds = table.name(number, holds).unwrap_or_default();
        Some((
            key,
            Field { holds, offset: table.word(number, offset)?, address: table.word(number, address)? },
        ))
    };
    Some((0..MAX_ENTRIES).map_while(field).collect())
}

fn sizes(memory: &Memory, value: impl Fn(&str) -> Option<u64>) -> Option<HashMap<String, u64>> {
    let place = |of: &str| place(value(&format!("gHotSpotVMTypeEntry{of}Offset")));
    let (name, size) = (place("TypeName")?, place("Size")?);
    let mut table = Table::of(memory, value("gHotSpotVMTypes"), value("gHotSpotVMTypeEntryArrayStride"))?;
    let of_type = |number| Some((table.name(number, name)?, table.word(number, size)?));
    Some((0..MAX_ENTRIES).map_while(of_type).collect())
}

/// A place in an entry, if it can be one.
fn place(told: Option<u64>) -> Option<u64> {
    told.filter(|place| *place <= MAX_ENTRY - 8)
}

impl<'m> Table<'m> {
    fn of(memory: &'m Memory, begin: Option<u64>, bytes: Option<u64>) -> Option<Self> {
        let bytes = bytes.filter(|bytes| (8..=MAX_ENTRY).contains(bytes))?;
        Some(Self { memory, begin: begin?, bytes, names: HashMap::new() })
    }

    /// A number of an entry.
    fn word(&self, number: u64, place: u64) -> Option<u64> {
        self.memory.word(self.begin.checked_add(number * self.bytes)?.checked_add(place)?)
    }

    /// A name in an entry; `None` where there is none, as in the last one.
    fn name(&mut self, number: u64, place: u64) -> Option<String> {
        let at = self.word(number, place).filter(|at| *at != 0)?;
        Some(self.names.entry(at).or_insert_with(|| name(self.memory, at)).clone())
    }
}

/// A name of C, as far as it is kept; nothing where there is none.
pub(super) fn name(memory: &Memory, at: u64) -> String {
    let mut name = Vec::new();
    for offset in (0..MAX_NAME as u64).step_by(8) {
        let Some([word]) = memory.words(at.wrapping_add(offset)) else { break };
        let bytes = word.to_ne_bytes();
        let end = bytes.iter().position(|byte| *byte == 0);
        name.extend(&bytes[..end.unwrap_or(bytes.len())]);
        if end.is_some() {
            break;
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}
