//! What answers take of the machine's energy, in sentences.

use assay_model::energy::{EnergyPerAnswer, Metering};
use assay_model::interval::Interval;

use super::phrases::all_of;
use crate::format::{self, Estimate};

/// What an answer of one server takes, and how much of it the machine takes anyway.
pub(crate) fn sentence(contender: &str, energy: &EnergyPerAnswer, place: &str) -> String {
    let (whole, interval) = told(&energy.whole_uj);
    let head =
        format!("On {place}, the machine takes {whole} of energy for an answer of {contender}{interval}");
    match (&energy.beyond_idle_uj, energy.idle_uj) {
        (Some(beyond), Some(idle)) => {
            let (beyond, interval) = told(beyond);
            let idle = format::energy(idle);
            format!("{head}: {idle} that it takes idle in the same time, and {beyond} more{interval}.")
        }
        _ => format!("{head}; what it takes idle is not known."),
    }
}

/// An amount, and its interval after a space; of a single restart there is none.
fn told(uj: &Interval) -> (String, String) {
    let Estimate { estimate, interval } = format::energy_interval(uj);
    (estimate, if uj.confidence > 0.0 { format!(" {interval}") } else { String::new() })
}

/// The counters that energy is read from; where it is not told, why, and what helps.
pub(crate) fn footing(metering: &Metering) -> String {
    match metering {
        Metering::Metered { counters, .. } => {
            let names: Vec<String> = counters.iter().cloned().collect();
            format!(
                "Energy is that of {}, whoever ran on them: the generator's part is in it, which is the same for all at one rate.",
                all_of(&names)
            )
        }
        Metering::NoCounter => "Energy is not told, because this machine shows no counter of it, as virtual machines and containers do \
            not: measure on the hardware itself, and if there is still none, load the kernel's driver (modprobe intel_rapl_msr, for \
            AMD too)."
            .to_owned(),
        Metering::NotAllowed { file } => format!(
            "Energy is not told, because {file} may be read by root alone (since CVE-2020-8694): measure as root, or allow it until \
             the next boot with `sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj`, where nobody else may spy by it."
        ),
        Metering::StandStill => {
            "Energy is not told, because the counters of this machine never move: measure on the hardware itself.".to_owned()
        }
        Metering::AnotherHost => {
            "Energy is not told, because servers ran on another host, whose counters assay does not read: run assay on that host to \
             see it."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(estimate: f64) -> Interval {
        Interval { estimate, low: estimate - 10.0, high: estimate + 10.0, confidence: 0.95 }
    }

    #[test]
    fn the_idle_part_is_told_apart() {
        let energy = EnergyPerAnswer {
            whole_uj: around(312.0),
            idle_uj: Some(200.0),
            beyond_idle_uj: Some(around(112.0)),
        };
        assert_eq!(
            sentence("nginx", &energy, "hello at 64 connections"),
            "On hello at 64 connections, the machine takes 312 µJ of energy for an answer of nginx [302 … 322 µJ]: 200 µJ that it takes \
             idle in the same time, and 112 µJ more [102 … 122 µJ]."
        );
        let alone = |of: f64| Interval { confidence: 0.0, ..around(of) };
        let once = EnergyPerAnswer { whole_uj: alone(312.0), beyond_idle_uj: Some(alone(112.0)), ..energy };
        assert!(
            sentence("nginx", &once, "hello").ends_with(
                "an answer of nginx: 200 µJ that it takes idle in the same time, and 112 µJ more."
            )
        );
        let unknown = EnergyPerAnswer { idle_uj: None, beyond_idle_uj: None, ..energy };
        assert!(sentence("nginx", &unknown, "hello").ends_with("]; what it takes idle is not known."));
    }

    #[test]
    fn what_is_counted_and_what_keeps_it_from_being_told_is_said() {
        let counters = ["package-0", "dram"].map(String::from).into();
        let metered = footing(&Metering::Metered { counters, idle: None });
        assert!(
            metered.starts_with("Energy is that of dram and package-0, whoever ran on them"),
            "{metered}"
        );
        let file = "/sys/class/powercap/intel-rapl:0/energy_uj".to_owned();
        for (metering, reason, remedy) in [
            (Metering::NoCounter, "no counter", "modprobe"),
            (Metering::NotAllowed { file }, "intel-rapl:0/energy_uj may be read by root alone", "chmod a+r"),
            (Metering::StandStill, "never move", "on the hardware itself"),
            (Metering::AnotherHost, "another host", "run assay on that host"),
        ] {
            let told = footing(&metering);
            assert!(told.starts_with("Energy is not told, because"), "{told}");
            assert!(told.contains(reason) && told.contains(remedy), "{told}");
        }
    }
}
