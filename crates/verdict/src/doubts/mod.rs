//! What may speak against figures: each module is one doubt and the evidence for it.

pub(crate) mod answers;
pub(crate) mod disturbed;
pub(crate) mod looks;
pub(crate) mod losses;
pub(crate) mod objections;
pub(crate) mod order;
pub(crate) mod pauses;
pub(crate) mod running;
pub(crate) mod throttled;
