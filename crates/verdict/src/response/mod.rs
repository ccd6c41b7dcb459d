//! How long answers take: percentiles at given rates, answers in time, and redlines.

pub(crate) mod answered;
pub(crate) mod lag;
pub(crate) mod latency;
pub(crate) mod redline;
