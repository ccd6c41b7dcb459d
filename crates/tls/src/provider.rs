//! The provider of cryptography: ring. It needs a C compiler and nothing else, and compiles in half the time that aws-lc takes.

use std::sync::Arc;

use rustls::Error;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::ProducesTickets;

/// Ciphers, groups and signatures.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Tickets that the server need not remember (RFC 5077), under keys that change by themselves.
pub(crate) fn ticketer() -> Result<Arc<dyn ProducesTickets>, Error> {
    ring::Ticketer::new()
}
