//! How connections come and go.

use assay_engine::{Conn, Engine, EngineError, Reason};
use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use super::Worker;
use crate::arrivals::Arrivals;
use crate::dialler::pause;
use crate::protocol::{Loss, Protocol};
use crate::slot::State;

impl<E: Engine, A: Arrivals, P: Protocol> Worker<'_, E, A, P> {
    pub(super) fn broken(&mut self, index: u32, reason: Reason, now: Nanos) {
        let slot = &self.session.slots[index as usize];
        if slot.state == State::Connecting {
            let class = match reason {
                Reason::Refused => ErrorClass::ConnectRefused,
                Reason::TimedOut => ErrorClass::ConnectTimeout,
                Reason::Tls(fault) => fault.into(),
                Reason::Reset | Reason::SendReset | Reason::Unreachable | Reason::Other(_) => {
                    ErrorClass::ConnectOther
                }
            };
            return self.connect_failed(index, class, &reason.to_string(), now);
        }
        if slot.state == State::Greeting {
            return self.connect_failed(index, ErrorClass::UpgradeRefused, &reason.to_string(), now);
        }
        match reason {
            Reason::TimedOut => self.session.lose(index, now, Loss::TimedOut),
            Reason::Tls(fault) => self.session.lost_security(index, fault, now),
            Reason::SendReset => self.session.lose(index, now, Loss::SendReset),
            _ => self.session.lose(index, now, Loss::Reset),
        }
        self.vacate(index, now);
    }

    pub(super) fn connect_waiting(&mut self, now: Nanos) {
        if self.begun && self.session.schedule.is_spent(now) {
            return;
        }
        while let Some(index) = self.dialler.begin() {
            let sources = self.address.sources;
            let source =
                if sources.is_empty() { None } else { Some(sources[index as usize % sources.len()]) };
            let began = self.now();
            match self.engine.connect(self.address.remote, source) {
                Ok(conn) => self.connecting(index, conn, began),
                Err(error) => {
                    let class = match error {
                        EngineError::NoPort { .. } => ErrorClass::AddressExhausted,
                        EngineError::System { .. } => ErrorClass::ConnectOther,
                        EngineError::Full { .. } => ErrorClass::ClientInternal,
                    };
                    self.connect_failed(index, class, &error.to_string(), now);
                }
            }
        }
    }

    pub(super) fn connecting(&mut self, index: u32, conn: Conn, began: Nanos) {
        if conn.slot() >= self.owners.len() {
            self.owners.resize(conn.slot() + 1, u32::MAX);
        }
        self.owners[conn.slot()] = index;
        let slot = &mut self.session.slots[index as usize];
        slot.state = State::Connecting;
        slot.conn = Some(conn);
        slot.began = began;
        slot.deadline = began + self.timeout;
        self.arm(index, began + self.timeout);
    }

    /// The connection is established, and secured if it was to be.
    pub(super) fn connected(&mut self, conn: Conn, index: u32, now: Nanos) {
        let security = self.engine.security(conn);
        if !P::accepts(security.as_ref()) {
            self.engine.abort(conn);
            let why = "the server does not choose the protocol that was offered (ALPN)";
            return self.connect_failed(index, ErrorClass::TlsNoProtocol, why, now);
        }
        if self.session.opened(index, now, security) {
            self.dialler.finish();
        }
        self.flush(conn, index);
    }

    pub(super) fn connect_failed(&mut self, index: u32, class: ErrorClass, why: &str, now: Nanos) {
        self.dialler.finish();
        self.signals.report_refused();
        self.first_failure.get_or_insert_with(|| (class, why.to_owned()));
        if self.begun {
            self.session.recorder.sample(class, &[], || why.to_owned());
            self.session.fail_due(index, class, now);
        }
        self.vacate(index, now);
    }

    /// The slot has lost its connection; it gets another, at once if this one was of use.
    pub(super) fn vacate(&mut self, index: u32, now: Nanos) {
        match pause(self.session.vacated(index)) {
            Nanos::ZERO => self.dialler.want(index),
            pause => {
                self.session.slots[index as usize].deadline = now + pause;
                self.arm(index, now + pause);
            }
        }
    }
}
