//! What a record holds, decoded once, and the plain facts about it that every question starts from.

pub(crate) mod ages;
pub(crate) mod energy;
pub(crate) mod measured;
pub(crate) mod percentiles;
pub(crate) mod price;
pub(crate) mod sample;
pub mod speed;
pub mod turns;
pub(crate) mod window;
