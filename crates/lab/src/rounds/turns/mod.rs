//! Several servers that live at once and take turns under load: one after the other in a carousel, or two at a time in a duet.

mod carousel;
pub(crate) mod cell_turns;
pub(crate) mod duet;
pub(crate) mod ensemble;
pub(crate) mod settle;
mod turn_length;
