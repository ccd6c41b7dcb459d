//! The processes in a container, which its engine may have started as somebody else's children.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use assay_host::process::descendants;

use super::{Inherited, Purpose, Tools};
use crate::stop::Stop;
use crate::subject::Container;
use crate::supervisor::{SupervisorOptions, run_bounded};

/// Longest time for the engine to answer a question.
const TIMEOUT: Duration = Duration::from_secs(20);

/// From SIGTERM to SIGKILL: the engine is asked twice, and takes half a second each time on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// The first process in the container of which `scratch` holds the id, as the host numbers it; `None` where the engine does not
/// tell, so that nothing is observed rather than the engine's own client.
pub(super) fn first_process(
    container: &Container,
    inherited: &Inherited,
    scratch: &Path,
    tools: &Tools,
    stop: &Stop,
) -> Option<u32> {
    let id = std::fs::read_to_string(scratch.join(&container.id_file)).ok()?;
    let question = [&container.engine, "inspect", "--format", "{{.State.Pid}}", id.trim()];
    let answer = scratch.join("inspected");
    let mut options =
        SupervisorOptions::new(scratch.join("inspect.log"), question.map(OsString::from).to_vec());
    options.stdout = Some(answer.clone());
    let mut wanted = || !stop.now();
    let variables = inherited.variables(Purpose::Serving);
    let how = run_bounded(&tools.assay, &options, scratch, variables, TIMEOUT, &mut wanted).ok()?;
    let text = std::fs::read_to_string(answer).ok().filter(|_| how.is_success())?;
    text.trim().parse().ok().filter(|pid| *pid > 0)
}

/// A process with everything below it.
pub(super) fn tree(first: u32) -> Vec<u32> {
    std::iter::once(first).chain(descendants(first).into_iter().map(|process| process.pid)).collect()
}
