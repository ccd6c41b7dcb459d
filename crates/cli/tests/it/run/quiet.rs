//! What can be told only while no other test has the CPUs: beside others windows are void, or the time is over before a search's
//! second trial.

use super::lab;
use crate::support::stdout;

/// A server that takes 50 ms, whatever is asked of it.
#[test]
fn an_objective_that_no_rate_keeps_is_told_as_such_and_has_an_exit_code() {
    let lab = lab();
    let slow = "\"$ASSAY\" stub --port $PORT --service 50ms";
    let search =
        ["redline", "--cmd", slow, "--slo", "p99<5ms", "-c", "256", "-d", "500ms", "--warmup", "200ms"];
    let assert = lab.assay(&search).args(["--budget", "40s", "--no-check"]).assert().code(13);
    let text = stdout(&assert);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cannot keep p99<5ms at any rate"), "{text}");
    // Of few requests there is no median to tell.
    let median = ["where p50 alone is 49.", "where p50 alone is 5", "where the fastest answer took"];
    assert!(median.iter().any(|median| words.contains(median)), "{text}");
}
