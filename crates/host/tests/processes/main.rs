//! What the kernel tells of real processes, and does to them.

mod group;
mod quota;
mod usage;
