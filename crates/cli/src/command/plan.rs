//! `assay plan`: what a run would show, before anything is measured.

use assay_lab::Exit;
use assay_lab::store::Store;
use assay_report::{foreign, outlook};

use super::run;
use crate::args::PlanArguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &PlanArguments) -> Result<Exit, Failure> {
    if let Some(path) = arguments.run.output.first() {
        let path = path.display();
        return Err(Failure::usage(format_args!(
            "{path}: a plan has no result to write; leave out --output"
        )));
    }
    let plan = run::build(&arguments.run)?;
    let store = Store::new(&arguments.run.places.runs);
    let difference = Some(arguments.difference);
    let mut told = plan.outlook(&store, difference).ok_or_else(|| {
        Failure::usage(
            "there is nothing to compare: name two contenders or more, and measure them at capacity (--rate max)",
        )
    })?;
    if let Some(compared) = arguments.compared() {
        told.duet = run::build(&compared)?.outlook(&store, difference).and_then(|outlook| outlook.duet);
    }
    output::result(&match arguments.run.json {
        true => outlook::json(&told)?,
        false => foreign::lines(&outlook::text(&told, output::style(false).width)),
    });
    Ok(Exit::Ok)
}
