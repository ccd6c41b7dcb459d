//! What the machine of a server on another host did while it was loaded, as the agent there saw it.

use assay_host::census::Spent;
use assay_model::record::Machine;

use crate::hosts::message::Observed;

/// What was seen there of one span, or of several.
#[derive(Clone, Debug)]
pub(super) struct RemoteUse(Observed);

impl From<Observed> for RemoteUse {
    fn from(observed: Observed) -> Self {
        Self(observed)
    }
}

impl RemoteUse {
    /// What the server's processes used.
    pub(super) fn spent(&self) -> Spent {
        Spent { wall: self.0.wall_ns.into(), cpu_ns: self.0.spent_ns }
    }

    /// What the counters of its machine show, beside those of this one, where the load is led.
    pub(super) fn beside(&self, here: Machine) -> Machine {
        let there = &self.0.machine;
        Machine {
            steal_share: there.steal_share.max(here.steal_share),
            generator_idle_share: here.generator_idle_share,
            own_throttled: here.own_throttled,
            ..there.clone()
        }
    }

    /// Both together, one after the other.
    pub(super) fn then(&self, later: &Self) -> Self {
        let (one, other) = (&self.0, &later.0);
        let (first, second) = (one.wall_ns.as_secs_f64(), other.wall_ns.as_secs_f64());
        let mean = |a: f64, b: f64| (a * first + b * second) / (first + second).max(f64::MIN_POSITIVE);
        let of = |share: fn(&Machine) -> f64| mean(share(&one.machine), share(&other.machine));
        let cpus = one.machine.server_cpu_busy_shares.iter().zip(&other.machine.server_cpu_busy_shares);
        let pressure = one.machine.cpu_pressure_share.zip(other.machine.cpu_pressure_share);
        let machine = Machine {
            steal_share: of(|machine| machine.steal_share),
            server_idle_share: of(|machine| machine.server_idle_share),
            server_other_share: of(|machine| machine.server_other_share),
            server_interrupt_share: of(|machine| machine.server_interrupt_share),
            server_cpu_busy_shares: cpus.map(|(a, b)| mean(*a, *b)).collect(),
            cpu_pressure_share: pressure.map(|(a, b)| mean(a, b)),
            tcp_retransmits: one.machine.tcp_retransmits.saturating_add(other.machine.tcp_retransmits),
            listen_overflows: one.machine.listen_overflows.saturating_add(other.machine.listen_overflows),
            ..Machine::default()
        };
        let spent_ns = one.spent_ns.zip(other.spent_ns).map(|(a, b)| a + b);
        Self(Observed { wall_ns: one.wall_ns + other.wall_ns, spent_ns, machine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;

    #[test]
    fn shares_of_two_spans_weigh_as_long_as_these_lasted() {
        let span = |ms: u64, other: f64, retransmits: u64| {
            let machine = Machine {
                server_other_share: other,
                server_cpu_busy_shares: vec![other, 1.0],
                tcp_retransmits: retransmits,
                ..Machine::default()
            };
            RemoteUse(Observed { wall_ns: Nanos::from_millis(ms), spent_ns: Some(Nanos(ms)), machine })
        };
        let both = span(100, 0.4, 1).then(&span(300, 0.0, 2));
        assert_eq!((both.0.wall_ns, both.0.spent_ns), (Nanos::from_millis(400), Some(Nanos(400))));
        let here = Machine { generator_idle_share: 0.5, steal_share: 0.2, ..Machine::default() };
        let machine = both.beside(here);
        assert!((machine.server_other_share - 0.1).abs() < 1e-12, "{machine:?}");
        assert!((machine.server_cpu_busy_shares[0] - 0.1).abs() < 1e-12, "{machine:?}");
        assert_eq!(
            (machine.tcp_retransmits, machine.generator_idle_share, machine.steal_share),
            (3, 0.5, 0.2)
        );
    }
}
