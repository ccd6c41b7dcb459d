//! The arguments of `assay stub`.

use assay_serve::stub::{Discipline, Faults, Service, Stall, Warming};
use assay_serve::wrong::Fault;
use clap::{Args, ValueEnum};

use super::serve::Listening;

#[derive(Args)]
pub(crate) struct StubArguments {
    #[command(flatten)]
    pub(crate) listening: Listening,

    /// Whether requests wait for each other
    #[arg(long, value_enum, default_value = "parallel", help_heading = "Programme")]
    pub(crate) discipline: DisciplineName,
    /// How long a request is served: 1ms, exp:1ms, list:1ms,2ms or mix:1ms*99,100ms*1; a path such as /10ms asks for a
    /// time of its own
    #[arg(long, value_name = "TIMES", default_value = "0s", help_heading = "Programme")]
    pub(crate) service: Service,
    /// How many times as long the first request is served, and how much work it takes to get over that, such as 2x/10s
    #[arg(long, value_name = "TIMES/WORK", help_heading = "Programme")]
    pub(crate) warming: Option<Warming>,
    /// Nothing leaves for so long in every period, such as 100ms/1s
    #[arg(long, value_name = "LENGTH/PERIOD", help_heading = "Programme")]
    pub(crate) stall: Option<Stall>,
    /// Spoilt answers by rate: wrong-byte, status-500, reset-in-body, never; such as never=0.01,status-500=0.001
    #[arg(
        long,
        value_name = "FAULT=RATE,…",
        default_value = "never=0",
        hide_default_value = true,
        help_heading = "Programme"
    )]
    pub(crate) faults: Faults,
    /// Steps of arithmetic for each request: CPU time of the server's own, where --service only waits
    #[arg(long, value_name = "STEPS", default_value_t = 0, help_heading = "Programme")]
    pub(crate) work: u32,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Programme")]
    pub(crate) seed: u64,
    /// Do one thing wrongly that `assay why` must find, and answer every GET, on blocking sockets with a thread for each connection:
    /// run-queue, lock, accept-queue, one-thread, collector, delayed-acknowledgement, small-buffers or disk
    #[arg(long, value_name = "FAULT", help_heading = "Programme", conflicts_with_all = PROGRAMME)]
    pub(crate) wrong: Option<Fault>,
}

/// What a server that does one thing wrongly does not do.
const PROGRAMME: [&str; 11] = [
    "discipline",
    "service",
    "warming",
    "stall",
    "faults",
    "work",
    "seed",
    "engine",
    "stack",
    "tls",
    "tls_cert",
];

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DisciplineName {
    /// Each is served at once
    Parallel,
    /// One after the other
    Fifo,
}

impl DisciplineName {
    pub(crate) fn discipline(self) -> Discipline {
        match self {
            Self::Parallel => Discipline::Parallel,
            Self::Fifo => Discipline::Fifo,
        }
    }
}
