//! What each server can do at most: tables of rates with intervals and tiers, and what held them where they are.

pub(crate) mod cell;
pub(crate) mod duet;
pub(crate) mod floor;
pub(crate) mod headroom;
pub(crate) mod limit;
pub(crate) mod ranking;
pub(crate) mod self_ratio;
pub(crate) mod standing;
pub(crate) mod tables;
