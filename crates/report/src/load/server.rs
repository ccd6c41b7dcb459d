//! The server of a load in the summary: who it is, where it ran, what it used.

use assay_model::cpuset::CpuSet;
use assay_model::load::LoadReport;
use assay_model::running::Running;
use assay_model::usage::Usage;

use crate::format;

/// The server in words.
pub(super) fn describe(report: &LoadReport) -> Option<String> {
    Some(match report.running.as_ref()? {
        Running::Unseen { why } => format!("not watched: {why}"),
        Running::Found { program, pids, processes, cpus } => {
            let others = match (*processes as usize).saturating_sub(pids.len().min(1)) {
                0 => String::new(),
                n => format!(" and {} more", format::count(n as u64)),
            };
            let pid = pids.first().copied().unwrap_or_default();
            let used = report.server.as_ref().map(|used| used_in_words(report, used)).unwrap_or_default();
            format!("{program} (process {pid}{others}) {}{used}", place(cpus, &report.cpus))
        }
    })
}

/// Where it may run, and whether the generator is there too.
fn place(server: &str, generator: &str) -> String {
    let cpus = |list: &str| list.parse::<CpuSet>().unwrap_or_default();
    let shared = cpus(server).intersection(&cpus(generator));
    match shared.is_empty() {
        true => format!("on CPU {server}, which the generator left alone"),
        false => format!("on any of CPUs {server}, the generator's {shared} among them"),
    }
}

fn used_in_words(report: &LoadReport, used: &Usage) -> String {
    // Of no answers there is no share.
    let each = match report.books.ok {
        0 => String::new(),
        ok => format!(", {} per answer", format::duration(used.cpu_ns().0 as f64 / ok as f64)),
    };
    let memory = format::bytes(used.memory_bytes());
    let cpus = match used.busy_share(1) {
        share if share < 1.0 => format!("{} of a CPU", format::percent(share)),
        several => format!("{} CPUs", format::quotient(several)),
    };
    format!(" · {cpus}{each} · {memory}")
}
