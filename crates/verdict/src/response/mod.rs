//! How long answers take: percentiles at given rates, answers in time, and redlines; at which rates, and by which search.

pub(crate) mod answered;
pub mod course;
pub(crate) mod lag;
pub(crate) mod latency;
pub mod rates;
pub(crate) mod redline;
