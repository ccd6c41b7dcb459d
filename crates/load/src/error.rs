//! Why no measurement could be made.

use std::net::SocketAddr;

use assay_engine::EngineError;
use assay_host::cpuset::PinError;
use assay_http::render::RenderError;
use assay_model::load::ErrorClass;
use assay_model::workload::BadRequest;
use assay_stats::StatsError;

/// Why no measurement could be made. A server that fails under load is no error: its failures are in the report.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan contradicts itself or asks for nothing.
    #[error("cannot measure: {0}")]
    Plan(String),
    /// A request of the workload cannot be written as HTTP.
    #[error("request {method} {path}: {source}")]
    Request {
        /// Method of the request.
        method: String,
        /// Path of the request.
        path: String,
        /// What is wrong with it.
        source: RenderError,
    },
    /// A placeholder or an expectation of the workload means nothing.
    #[error("request {path}: {source}")]
    BadRequest {
        /// The request's path.
        path: String,
        /// What is wrong, and where.
        source: BadRequest,
    },
    /// Not one connection could be made.
    #[error("no connection to {target} could be made: {why}; {}", remedy(.class))]
    Unreachable {
        /// Where to.
        target: SocketAddr,
        /// How the attempts ended.
        class: ErrorClass,
        /// The reason in words.
        why: String,
    },
    /// The process may not open as many descriptors as the plan needs.
    #[error(
        "{connections} connections over {engine} need a limit of {needed} open files, but this process may have {limit}, \
         which is enough for {fitting}; raise the hard limit (`ulimit -Hn {needed}` as root, or LimitNOFILE of its \
         service) or use fewer connections"
    )]
    Descriptors {
        /// Connections asked for.
        connections: u32,
        /// The engine that is to hold them.
        engine: &'static str,
        /// Limit that they need.
        needed: u64,
        /// The hard limit.
        limit: u64,
        /// Connections that it is enough for.
        fitting: u64,
    },
    /// There are not local ports enough for the plan.
    #[error(
        "{connections} connections to {target} need more local ports than there are: {addresses} source address(es) with \
         {ports} each; name more with `--source`, widen net.ipv4.ip_local_port_range, or use fewer connections"
    )]
    Ports {
        /// Connections asked for.
        connections: u32,
        /// Source addresses.
        addresses: u32,
        /// Ports of each.
        ports: u32,
        /// Where to.
        target: SocketAddr,
    },
    /// A thread could not be pinned.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// The engine broke.
    #[error("the event engine broke: {0}")]
    Engine(#[from] EngineError),
    /// A histogram could not be encoded.
    #[error("a histogram could not be encoded: {0}")]
    Histogram(#[from] StatsError),
    /// A thread of the generator could not be started or ended without a result.
    #[error("a thread of the generator failed: {0}")]
    Thread(String),
}

/// What helps where no connection can be made.
fn remedy(class: &ErrorClass) -> &'static str {
    class.remedy_of_tls().unwrap_or(match class {
        ErrorClass::UpgradeRefused => {
            "see that it speaks WebSocket at this path, or write http:// for plain requests"
        }
        ErrorClass::AddressExhausted => "fewer connections (-c) need fewer",
        _ => "see that the server runs and listens at this address",
    })
}
