//! Windows that somebody else asks for, one at a time: the lab, whose servers take turns.

use assay_lab::Exit;
use assay_lab::generator::CONNECTED;
use assay_load::{LoadPlan, News, WindowOrder};
use assay_model::units::Nanos;

use super::drive;
use super::fleet::Crew;
use crate::failure::Failure;
use crate::{output, signals};

/// Tells that the connections are made, and measures until standard input ends.
pub(super) fn run(plan: LoadPlan, crew: &Crew) -> Result<Exit, Failure> {
    let stop = signals::flag()?;
    let orders = std::io::stdin().lines().map_while(Result::ok).map_while(|line| parse(&line));
    let mut told = Ok(());
    let report = drive::windows(&plan, crew, orders, &stop, &mut |news| match (news, &told) {
        (News::Connected, _) => output::result(&format!("{CONNECTED}\n")),
        (News::Turn(turn), Ok(())) => told = print(serde_json::to_string(&*turn)),
        _ => {}
    })?;
    told?;
    if let Some(share) = report.generators.iter().find(|share| share.lost.is_some()) {
        let reason = format!("generator {}: {}", share.name, share.lost.as_deref().unwrap_or_default());
        return Err(Failure::Unmeasured { exit: Exit::MachineUnfit, reason });
    }
    print(serde_json::to_string(&report))?;
    Ok(Exit::Ok)
}

/// `SETTLE_NS LENGTH_NS`; anything else ends the measurement as the end of input does.
fn parse(line: &str) -> Option<WindowOrder> {
    let (settle, length) = line.trim().split_once(' ')?;
    Some(WindowOrder {
        settle: Nanos(settle.parse().ok()?),
        length: Nanos(length.parse().ok()?),
        start: None,
    })
}

fn print(line: serde_json::Result<String>) -> Result<(), Failure> {
    let line = line.map_err(|error| Failure::Bug(error.to_string()))?;
    output::result(&(line + "\n"));
    Ok(())
}
