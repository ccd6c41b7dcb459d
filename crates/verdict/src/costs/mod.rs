//! What something costs: a stack, a protocol, a proxy, energy and money.

pub(crate) mod energy;
pub(crate) mod price;
pub(crate) mod protocol;
pub(crate) mod proxy;
pub(crate) mod stack;
