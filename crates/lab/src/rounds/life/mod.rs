//! One life of a contender's process: what it is started with, what is measured of it, and what is seen meanwhile.

mod cross_check;
pub(crate) mod halt;
pub(crate) mod learning;
mod measuring;
mod profiler;
pub(crate) mod profiling;
pub(crate) mod server_run;
pub(crate) mod straight;
pub(crate) mod watch;
