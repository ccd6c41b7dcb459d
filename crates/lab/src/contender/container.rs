//! The processes in a container, which its engine may have started as somebody else's children.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::StartOrder;
use crate::hosts::host::Surroundings;
use crate::subject::{Container, Process};
use crate::supervisor::{SupervisorOptions, tail};

/// Longest time for the engine to answer a question.
const TIMEOUT: Duration = Duration::from_secs(20);

/// From SIGTERM to SIGKILL: the engine is asked twice, and takes half a second each time on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Asks an engine, the first argument, for the first process of the container whose id is in a file, the second.
const QUESTION: &str = r#"exec "$0" inspect --format '{{.State.Pid}}' "$(cat "$1")""#;

/// The first process in the container that was started with the folder `scratch`, as its host numbers it; `None` where the engine does not
/// tell, so that nothing is observed rather than the engine's own client.
pub(super) fn first_process(
    container: &Container,
    process: &Process,
    scratch: &Path,
    order: &StartOrder<'_>,
) -> Option<u32> {
    let log = order.log.with_extension("inspect.log");
    let job = order.host.new_job(&log);
    let id_file = scratch.join(&container.id_file);
    let question = ["sh", "-c", QUESTION, &container.engine].map(OsString::from);
    let command = question.into_iter().chain([id_file.into_os_string()]).collect();
    let options = SupervisorOptions::new(job.log.clone(), command);
    let (inherited, variables) = (&process.inherited, Vec::new());
    let around = Surroundings { folder: scratch, inherited, is_building: false, variables };
    let how = order.host.run_bounded(job, &options, around, TIMEOUT, &mut || !order.stop.now());
    let said = tail(&log, 1, &order.tools.secrets);
    let _ = std::fs::remove_file(&log);
    let is_told = how.is_ok_and(|how| how.is_success());
    said.first().filter(|_| is_told)?.trim().parse().ok().filter(|pid| *pid > 0)
}
