//! `assay doctor --lab`: the hosts of a lab in one table, what the network between them carries, and what speaks against each.

use std::path::Path;

use assay_lab::Exit;
use assay_lab::catalogue::read_lab;
use assay_lab::hosts::session::OwnProgram;
use assay_lab::hosts::survey::survey;
use assay_model::check::CheckOutcome;
use assay_model::doctor::Fitness;
use assay_model::host_link::HostLink;
use assay_model::lab::{HostReport, HostRole, LabReport};
use assay_report::terminal::Style;
use assay_report::{foreign, format, network, text};

use super::print_json;
use super::text::objections;
use crate::args::DoctorArguments;
use crate::command::list::table;
use crate::failure::Failure;
use crate::output;
use crate::signals;

const HEADINGS: [&str; 9] =
    ["host", "roles", "transport", "round trip", "CPUs", "memory", "free", "kernel", "fitness"];
/// For what is not known.
const UNKNOWN: &str = "–";

pub(super) fn run(file: &Path, arguments: &DoctorArguments) -> Result<Exit, Failure> {
    let lab = read_lab(file)?;
    let path = std::env::current_exe().map_err(|error| Failure::Bug(format!("where am I? {error}")))?;
    let own = OwnProgram { path, version: env!("CARGO_PKG_VERSION").to_owned() };
    let stop = signals::stop(|_| ())?;
    let report = survey(&lab, &own, !arguments.no_network, &stop);
    if stop.is_requested() {
        return Ok(Exit::Interrupted);
    }
    if arguments.json {
        print_json(serde_json::to_string_pretty(&report))?;
    } else {
        let text = render(&report, &output::style(arguments.ascii));
        output::result(&if arguments.ascii { text::ascii(&text) } else { text });
    }
    Ok(exit(&report, arguments.strict))
}

fn render(report: &LabReport, style: &Style) -> String {
    let heading = HEADINGS.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(report.hosts.iter().map(row)).collect();
    let (unknown, known): (Vec<&HostLink>, Vec<&HostLink>) =
        report.links.iter().partition(|link| link.problem.is_some());
    let told = |links: Vec<&HostLink>, sign: &str| -> String {
        let notes = links.into_iter().flat_map(network::notes);
        notes.map(|note| format!("{sign}{}\n", foreign::line(&note))).collect()
    };
    let problems = report.hosts.iter().flat_map(|host| &host.problems);
    let problems = problems.map(|problem| format!("→ {}\n", foreign::line(problem)));
    let against = report.hosts.iter().filter_map(|host| {
        let findings = &host.found.as_ref()?.diagnosis.findings;
        Some(objections(&host.host.name, findings, style))
    });
    let parts = std::iter::once(told(known, ""))
        .chain(against)
        .chain([problems.collect::<String>() + &told(unknown, "→ ")]);
    let parts = parts.filter(|part| !part.is_empty()).map(|part| format!("\n{part}"));
    table(&rows) + &parts.collect::<String>()
}

fn row(report: &HostReport) -> Vec<String> {
    let host = &report.host;
    let roles: Vec<&str> = host.roles.iter().map(|role: &HostRole| role.name()).collect();
    let roles = if roles.is_empty() { UNKNOWN.to_owned() } else { roles.join(", ") };
    let mut cells = vec![host.name.clone(), roles, host.transport.name().to_owned()];
    let unknown = || UNKNOWN.to_owned();
    match &report.found {
        None => cells.extend([(); 5].map(|()| unknown()).into_iter().chain(["no agent answers".to_owned()])),
        Some(found) => {
            let machine = &found.diagnosis.host;
            cells.extend([
                format::duration(2.0 * found.clock.error_ns.0 as f64),
                found.cpus.clone(),
                machine.memory_bytes.map_or_else(unknown, format::bytes),
                found.free_bytes.map_or_else(unknown, format::bytes),
                machine.kernel.clone().unwrap_or_else(unknown),
                fitness(report),
            ]);
        }
    }
    cells
}

/// The verdict of its doctor, with the rules that decided it.
fn fitness(report: &HostReport) -> String {
    let Some(found) = &report.found else { return UNKNOWN.to_owned() };
    let rules = |outcome| {
        let findings = found.diagnosis.findings.iter().filter(move |finding| finding.outcome == outcome);
        findings.map(|finding| finding.rule.as_str()).collect::<Vec<_>>().join(", ")
    };
    match found.diagnosis.fitness {
        Fitness::Fit => "fit".to_owned(),
        Fitness::UsableWithCaution => format!("caution: {}", rules(CheckOutcome::Warn)),
        Fitness::Unfit => format!("unfit: {}", rules(CheckOutcome::Void)),
    }
}

fn exit(report: &LabReport, strict: bool) -> Exit {
    let is_usable = |host: &HostReport| {
        let fitness = host.found.as_ref().map(|found| found.diagnosis.fitness);
        host.problems.is_empty()
            && match fitness {
                Some(Fitness::Fit) => true,
                Some(Fitness::UsableWithCaution) => !strict,
                Some(Fitness::Unfit) | None => false,
            }
    };
    let is_known = report.links.iter().all(|link| link.problem.is_none());
    if is_known && report.hosts.iter().all(is_usable) { Exit::Ok } else { Exit::MachineUnfit }
}
