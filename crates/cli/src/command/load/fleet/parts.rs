//! The part of a load that falls to each of several generators.

use assay_fleet::line::{FLEET_SCHEMA, Part};
use assay_fleet::slice::{deal_cpus, slices};
use assay_host::cpuset::CpuSet;
use assay_load::{LoadPlan, Span};
use assay_model::workload::Workload;

use crate::command::run;
use crate::failure::Failure;

/// What a generator is called, and its part.
pub(super) type Named = (String, Part);

/// Parts of several processes of this host, which divide its CPUs.
///
/// # Errors
/// What the load, or this machine, lacks for so many.
pub(super) fn here(plan: &LoadPlan, generators: u32) -> Result<Vec<Named>, Failure> {
    let cpus = deal_cpus(&plan.cpus, generators).into_iter().enumerate();
    let places = cpus.map(|(number, cpus)| ((number + 1).to_string(), cpus)).collect();
    let parts = parts(plan, places)?;
    let sources = assay_load::sources(plan)?;
    let own = |(name, part, own): (String, Part, LoadPlan)| {
        assay_load::check(&LoadPlan { sources: sources.clone(), ..own })?;
        Ok((name, Part { sources: sources.clone(), ..part }))
    };
    parts.into_iter().map(own).collect()
}

/// Parts of generators with these names and CPUs, each on a host of its own, which says itself what it lacks. `authorities` are those to trust that
/// are in a file of this host.
///
/// # Errors
/// What the load lacks for so many.
pub(super) fn there(
    plan: &LoadPlan,
    places: Vec<(String, Vec<u32>)>,
    authorities: Option<&str>,
) -> Result<Vec<Named>, Failure> {
    let sent = |part| Part { authorities: authorities.map(str::to_owned), ..part };
    Ok(parts(plan, places)?.into_iter().map(|(name, part, _)| (name, sent(part))).collect())
}

/// With each part the plan that it makes.
fn parts(plan: &LoadPlan, places: Vec<(String, Vec<u32>)>) -> Result<Vec<(String, Part, LoadPlan)>, Failure> {
    if !plan.stack.is_kernel() {
        return Err(Failure::usage(
            "the far end of a wire is one process: leave --generators and --lab out with --stack user",
        ));
    }
    let threads: Vec<u32> = places.iter().map(|(_, cpus)| cpus.len() as u32).collect();
    let slices = slices(&threads, plan.connections).map_err(Failure::usage)?;
    let generators = places.len();
    let part = |(slice, (name, cpus)): (_, (String, Vec<u32>))| {
        let own = plan.part(slice, cpus);
        if own.span == Span::Requests(0) {
            return Err(Failure::usage(format_args!(
                "{generators} generators with so few requests: some would have none; ask for more with -n"
            )));
        }
        let part = Part {
            schema: FLEET_SCHEMA.to_owned(),
            arguments: run::own_command().split_off(1),
            target: plan.target,
            cpus: own.cpus.iter().copied().collect::<CpuSet>().to_string(),
            sources: Vec::new(),
            slice,
            workload: workload(plan),
            seconds: plan.seconds,
            authorities: None,
        };
        Ok((name, part, own))
    };
    slices.into_iter().zip(places).map(part).collect()
}

/// What is asked and what is right, as the plan has it.
fn workload(plan: &LoadPlan) -> Workload {
    Workload {
        name: "load".to_owned(),
        websocket: plan.websocket,
        grpc: plan.grpc,
        requests: plan.requests.clone(),
        ..Workload::default()
    }
}
