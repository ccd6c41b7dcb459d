//! What a stack is to be made for.

use assay_engine::clock;
use assay_model::units::Nanos;

use crate::address::{Cidr, hardware_for, is_unicast};
use crate::memory;

/// Addresses of a stack at most, as smoltcp is built here.
pub const MAX_ADDRESSES: usize = 8;

/// Bytes that all connections together must be able to hold: a few times what one can.
const LEAST_MEMORY_BYTES: usize = 1 << 20;

/// What a stack is to be made for.
#[derive(Clone, Debug)]
pub struct Config {
    /// Connections of users at most, open or opening.
    pub max_connections: usize,
    /// Our hardware address.
    pub hardware: [u8; 6],
    /// Our addresses, at most [`MAX_ADDRESSES`]; their networks are what can be reached.
    pub addresses: Vec<Cidr>,
    /// Bytes that each connection can hold for its user: the largest window that its peer sees. Memory is used as they come.
    pub receive_bytes: usize,
    /// Bytes that each connection can have under way. Memory is used as they are.
    pub send_bytes: usize,
    /// Bytes that all connections together may hold. From three quarters on windows shrink and no connection is accepted; beyond,
    /// the connection that holds most is reset.
    pub memory_bytes: usize,
    /// The time.
    pub clock: fn() -> Nanos,
}

impl Config {
    /// For connections of ordinary requests: an idle one takes about a kilobyte, one that carries a large body as much as it has
    /// under way, and all together an eighth of the machine's memory.
    pub fn new(max_connections: usize, addresses: Vec<Cidr>) -> Self {
        let hardware = addresses.first().map_or([0x02, 0x77, 0, 0, 0, 0], |cidr| hardware_for(cidr.address));
        Self {
            max_connections,
            hardware,
            addresses,
            receive_bytes: 64 << 10,
            send_bytes: 64 << 10,
            memory_bytes: memory::usual_limit(),
            clock: clock::now,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SetupError> {
        match self.addresses.len() {
            0 => Err(SetupError::NoAddress),
            n if n > MAX_ADDRESSES => Err(SetupError::TooManyAddresses(n)),
            _ if !is_unicast(self.hardware) => Err(SetupError::Hardware),
            _ if self.receive_bytes.min(self.send_bytes) < 2048 || self.receive_bytes > 1 << 30 => {
                Err(SetupError::Buffers)
            }
            _ if self.memory_bytes < LEAST_MEMORY_BYTES => Err(SetupError::Memory),
            _ => Ok(()),
        }
    }
}

/// Why a stack cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The stack has no address.
    #[error("the stack needs an address of its own; give one such as 10.77.0.1/24")]
    NoAddress,
    /// The stack has more addresses than it can have.
    #[error("{0} addresses are more than a stack can have; give at most {MAX_ADDRESSES}")]
    TooManyAddresses(usize),
    /// The hardware address is that of a group.
    #[error(
        "a stack cannot have the hardware address of a group; give one whose first octet is even and not all are 0"
    )]
    Hardware,
    /// The buffers are too small for a segment, or larger than a window can be.
    #[error("a connection's buffers need 2048 bytes at least, and can receive 1 GiB at most")]
    Buffers,
    /// The connections together could hold too little for any of them to work.
    #[error("the connections of a stack need {} KiB of memory at least", LEAST_MEMORY_BYTES >> 10)]
    Memory,
    /// There is no key for what nobody else may guess.
    #[error("the system gives no random numbers (getrandom(2))")]
    NoSecret,
}
