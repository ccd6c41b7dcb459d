//! Sessions that a client may resume. rustls's own store keeps eight tickets for a server, which many connections at once
//! would soon use up: they would be counted as full handshakes for want of our memory, not of the server's tickets.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets kept; a client has few connections in their handshakes at a time, and each brings new ones.
const TICKETS: usize = 1024;

/// What one client has learnt of one server, the only one that it speaks to.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// The oldest first. One is used only once (RFC 8446 §C.4).
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.known().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.known().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.known().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.known().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.known().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut known = self.known();
        if known.tickets.len() == TICKETS {
            known.tickets.pop_front();
        }
        known.tickets.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.known().tickets.pop_back()
    }
}
