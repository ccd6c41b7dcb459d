//! What a container's engine is asked and tells: the image that was built, why it started none, and the processes in a container, which
//! it may have started as somebody else's children.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::StartOrder;
use crate::hosts::host::JobSurroundings;
use crate::subject::{Container, Process};
use crate::supervisor::{Ended, SupervisorOptions, tail};

/// Longest time for the engine to answer a question.
const TIMEOUT: Duration = Duration::from_secs(20);

/// From SIGTERM to SIGKILL: the engine is asked twice, and takes half a second each time on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Asks an engine, the first argument, for the first process of the container whose id is in a file, the second.
const QUESTION: &str = r#"exec "$0" inspect --format '{{.State.Pid}}' "$(cat "$1")""#;

/// Digits of an image's id (OCI image specification 1.1, "ImageID": a SHA-256).
const ID_DIGITS: usize = 64;
/// Words of a command that has a script around it, up to its folder.
const SCRIPT_WORDS: usize = 5;

/// Whether a text is the id of an image, as digits alone.
pub(super) fn is_image(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A command of an engine without the script around it, as a person would type it.
pub(super) fn typed(command: &[String]) -> String {
    command.get(SCRIPT_WORDS..).unwrap_or(command).join(" ")
}

/// Has the container be started from the image that was built for this run, whatever has its name by now.
pub(super) fn start_from(container: &Container, command: &mut [String], id: String) {
    if let Some(image) = command.iter_mut().find(|word| **word == container.image) {
        *image = id;
    }
}

/// What to do about what an engine may leave of a build that is interrupted; `None` where it leaves nothing.
pub(super) fn left_by_a_build(container: &Container) -> Option<String> {
    (container.engine == "podman").then(|| {
        "see with `podman ps --all --external` which working containers it left, and remove them with `podman rm`; \
         `podman image prune` removes images without a name"
            .to_owned()
    })
}

/// Whether a command that ran a container may have ended for a reason of the engine's: it could do nothing, or not invoke what the
/// container was to run, or found none (podman-run(1), "Exit Status"; docker's are the same).
pub(super) fn is_of_the_engine(ended: &Ended) -> bool {
    matches!(ended.code, Some(125..=127))
}

/// The line in which an engine says why it did not start a container, of what it said in the end; hints follow it.
pub(super) fn refusal(said: &[String]) -> Option<&str> {
    let is_error =
        |line: &&String| line.starts_with("Error: ") || line.contains(": Error response from daemon");
    said.iter().rev().find(is_error).map(String::as_str)
}

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
    let around = JobSurroundings { folder: scratch, inherited, is_building: false, variables };
    let how = order.host.run_bounded(job, &options, around, TIMEOUT, &mut || !order.stop.is_immediate());
    let said = tail(&log, 1, &order.tools.secrets);
    let _ = std::fs::remove_file(&log);
    let is_told = how.is_ok_and(|how| how.is_success());
    said.first().filter(|_| is_told)?.trim().parse().ok().filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_engines_reason_is_told_and_not_the_hint_behind_it() {
        let docker = lines(
            "docker: Error response from daemon: failed to create task: exec: \"/nothere\": no such file\n\
             \n\
             Run 'docker run --help' for more information",
        );
        assert!(refusal(&docker).is_some_and(|line| line.contains("/nothere")), "{docker:?}");
        let podman = lines("Error: crun: executable file `/nothere` not found in $PATH");
        assert_eq!(refusal(&podman), Some(&*podman[0]));
        assert_eq!(refusal(&lines("sh: 1: exec: ./server: not found")), None, "what runs in it says that");
    }

    #[test]
    fn a_container_is_started_from_the_image_that_was_built_for_it() {
        let container = Container {
            engine: "podman".to_owned(),
            id_file: String::new(),
            image: "localhost/x".to_owned(),
            arguments: lines("run\n${x}"),
        };
        let mut command = ["sh", "-c", "script", "sh", "podman", "localhost/x", "run"].map(str::to_owned);
        start_from(&container, &mut command, "0123".to_owned());
        assert_eq!(command[4..], ["podman", "0123", "run"]);
        assert_eq!(
            container.command("0123").join(" "),
            "podman run --rm --network host --security-opt seccomp=unconfined 0123 run ${x}"
        );
    }

    #[test]
    fn an_image_is_known_by_all_digits_of_its_id() {
        assert!(is_image(&"0af".repeat(22)[..64]));
        assert!(!is_image("") && !is_image(&"0".repeat(63)) && !is_image(&"g".repeat(64)));
    }
}
