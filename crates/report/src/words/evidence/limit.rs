//! What held a throughput where it is.

use assay_model::evidence::{Bottleneck, Busiest};
use assay_model::verdict::LimitedBy;

use super::super::phrases::count_of;
use crate::format;

/// The finding that something else than the server set the figure, with what that is concluded from.
pub(super) fn sets_the_figure(by: LimitedBy, because: &Bottleneck) -> String {
    let what = match by {
        LimitedBy::Link => "the link sets this figure, not the server",
        _ => "the generator was saturated while the server was not",
    };
    format!("{what}: {}", bottleneck(by, because))
}

/// What is busy, or short, where a throughput ends.
pub(crate) fn bottleneck(by: LimitedBy, because: &Bottleneck) -> String {
    match because {
        Bottleneck::NoWindow => "no window counts".to_owned(),
        Bottleneck::SourceSilent => "the source does not tell".to_owned(),
        Bottleneck::Busy { cpus, server_share, generator_share, busiest } => {
            busy(by, *cpus, *server_share, *generator_share, busiest.as_ref())
        }
        Bottleneck::MoreWithMore { times } => {
            format!("with more connections it served {} times as much", format::quotient(*times))
        }
        Bottleneck::OnCpu { in_flight, share } => format!(
            "{} in flight spent {} of their time on a CPU, so hardly any waited",
            count_of(*in_flight as usize, "request"),
            format::percent(*share)
        ),
    }
}

/// The use of both sides, after the part of one that was busier than the rest.
fn busy(by: LimitedBy, cpus: u64, server: Option<f64>, generator: f64, busiest: Option<&Busiest>) -> String {
    let generator = format!("the generator's busiest thread used {} of its CPU", format::percent(generator));
    let server = server.map(|share| {
        let cpus = if cpus > 1 { format!("{cpus} CPUs") } else { "CPU".to_owned() };
        format!("the server used {} of its {cpus}", format::percent(share))
    });
    let both = match server {
        None => format!("{generator}; the server was not observed"),
        Some(server) if matches!(by, LimitedBy::Server | LimitedBy::ServerCore) => server,
        Some(server) => format!("{server}, {generator}"),
    };
    match busiest {
        Some(part) => format!("{}; {both}", busier(part)),
        None if by == LimitedBy::Neither => format!("{both}: requests waited for something else"),
        None => both,
    }
}

fn busier(part: &Busiest) -> String {
    let percent = |share: &f64| format::percent(*share);
    match part {
        Busiest::Thread { share } => format!("one thread used {} of a CPU", percent(share)),
        Busiest::Cpu { share } => format!("one CPU was {} busy", percent(share)),
        Busiest::Database { share, beside_generator } => {
            let what = if *beside_generator { "what the generator left of its CPUs" } else { "its CPUs" };
            format!("the database used {} of {what}", percent(share))
        }
        Busiest::DatabaseProcess { share } => {
            format!("one process of the database used {} of a CPU", percent(share))
        }
        Busiest::Upstream { share, beside_generator } => {
            let what = if *beside_generator { "what the generator left of its CPUs" } else { "its CPUs" };
            format!("the upstream used {} of {what}", percent(share))
        }
        Busiest::Link { link, share, from_server } => {
            let which = if *from_server { "from the server" } else { "to the server" };
            format!("{} of what {link} carries went {which}", percent(share))
        }
    }
}
