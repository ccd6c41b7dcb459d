//! Where the variables of a program or library lie in a process, by their symbols.

use std::path::PathBuf;

use blazesym::inspect::Inspector;
use blazesym::inspect::source::{Elf, Source};

/// The variables of one file in one process.
pub(crate) struct Variables {
    inspector: Inspector,
    source: Source,
    /// What lies between an address in the file and in the process.
    bias: u64,
}

impl Variables {
    pub(crate) fn of(file: impl Into<PathBuf>, bias: u64) -> Self {
        let mut elf = Elf::new(file);
        elf.debug_syms = false;
        Self { inspector: Inspector::new(), source: Source::Elf(elf), bias }
    }

    /// Address and size in bytes of a variable; `None` where the file has no such symbol.
    pub(crate) fn find(&self, name: &str) -> Option<(u64, usize)> {
        let found = self.inspector.lookup(&self.source, &[name]).ok()?;
        let symbol = found.first()?.first()?;
        Some((symbol.addr.wrapping_add(self.bias), symbol.size.unwrap_or_default()))
    }

    /// The address of a variable.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        self.find(name).map(|(address, _)| address)
    }
}
