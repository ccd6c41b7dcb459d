//! One file per subcommand.

pub(crate) mod agent;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod export;
pub(crate) mod from;
pub(crate) mod hold_netns;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod new;
pub(crate) mod plan;
pub(crate) mod redline;
pub(crate) mod report;
pub(crate) mod run;
mod runs;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod stub;
pub(crate) mod supervise;
pub(crate) mod sweep;
pub(crate) mod why;
mod written;
