//! What something costs: a stack, a protocol, a proxy.

pub(crate) mod protocol;
pub(crate) mod proxy;
pub(crate) mod stack;
