//! Messages, valid and not: whole, split and mutated, and as an independent parser reads them.

mod common;
mod mutation;
mod oracle;
mod splitting;
