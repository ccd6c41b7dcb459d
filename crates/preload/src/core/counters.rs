//! What happened in a process, over all its engines.

use std::fmt;

use assay_engine::Statistics;

/// Counters of a process, printed as names and numbers by turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    accepted: u64,
    connected: u64,
    received_bytes: u64,
    sent_bytes: u64,
    system_calls: u64,
    received_frames: u64,
    sent_frames: u64,
    retransmitted_segments: u64,
    retransmission_timeouts: u64,
    tail_loss_probes: u64,
    loss_recoveries: u64,
    wire_full: u64,
    dropped_frames: u64,
    dropped_requests: u64,
    forgotten_handshakes: u64,
    memory_shortages: u64,
    memory_resets: u64,
}

impl Counters {
    pub(crate) fn add(&mut self, engine: &Statistics) {
        self.accepted += engine.accepted;
        self.connected += engine.connected;
        self.received_bytes += engine.received_bytes;
        self.sent_bytes += engine.sent_bytes;
        self.system_calls += engine.system_calls();
        if let Some(stack) = &engine.stack {
            self.received_frames += stack.received_frames;
            self.sent_frames += stack.sent_frames;
            self.retransmitted_segments += stack.retransmitted_segments;
            self.retransmission_timeouts += stack.retransmission_timeouts;
            self.tail_loss_probes += stack.tail_loss_probes;
            self.loss_recoveries += stack.loss_recoveries;
            self.wire_full += stack.wire_full;
            self.dropped_frames += stack.dropped_frames;
            self.dropped_requests += stack.dropped_requests;
            self.forgotten_handshakes += stack.forgotten_handshakes;
            self.memory_shortages += stack.memory_shortages;
            self.memory_resets += stack.memory_resets;
        }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names_and_numbers = [
            ("accepted", self.accepted),
            ("connected", self.connected),
            ("received_bytes", self.received_bytes),
            ("sent_bytes", self.sent_bytes),
            ("system_calls", self.system_calls),
            ("received_frames", self.received_frames),
            ("sent_frames", self.sent_frames),
            ("retransmitted_segments", self.retransmitted_segments),
            ("retransmission_timeouts", self.retransmission_timeouts),
            ("tail_loss_probes", self.tail_loss_probes),
            ("loss_recoveries", self.loss_recoveries),
            ("wire_full", self.wire_full),
            ("dropped_frames", self.dropped_frames),
            ("dropped_requests", self.dropped_requests),
            ("forgotten_handshakes", self.forgotten_handshakes),
            ("memory_shortages", self.memory_shortages),
            ("memory_resets", self.memory_resets),
        ];
        out.write_str("counters")?;
        names_and_numbers.iter().try_for_each(|(name, number)| write!(out, " {name} {number}"))
    }
}
