//! The binary as a person uses it: real processes, real servers, good and bad; one program, one file per theme.
#![allow(clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

mod ageing;
mod answers;
mod bad_input;
mod before;
mod chat;
mod check;
mod commands;
mod compare;
#[allow(clippy::print_stderr, reason = "says what it skips")]
mod container;
mod database;
mod designs;
mod destination;
mod doctor;
mod ending;
mod energy;
#[allow(clippy::print_stderr, reason = "says what it skips")]
mod exec;
mod fleet;
mod fleet_hosts;
mod formats;
mod generators;
mod grpc;
#[allow(clippy::print_stderr, reason = "says what it skips")]
mod harmless;
mod hosts;
mod http2;
mod http2_run;
mod init;
#[allow(clippy::print_stderr, reason = "says what it skips")]
mod installed;
mod link;
mod live;
mod live_page;
mod load;
mod log;
mod many_hosts;
mod misbehaviour;
#[allow(clippy::print_stderr, reason = "says what it skips")]
mod networks;
#[allow(clippy::print_stderr, reason = "says what it skips")]
mod new;
mod plan;
mod profile;
mod proxies;
mod repeat;
mod request;
mod run;
mod running;
mod secrets;
mod serve;
mod setup;
mod socket;
mod stand_in;
mod support;
mod tls;
mod troubles;
mod why;
