//! Times that fail are believed only where the machine was not crowded; also used by the oracle's tests of processes.

use assay_host::system::SystemSample;

/// Share of a run in which some task waited for a CPU that makes its times worthless. Both sides are on CPUs of their own and
/// hardly wait for each other.
const CROWDED: f64 = 0.2;

/// Measures until the times are as they should be, so many times at most. Where tasks waited for a CPU each time, the times are the
/// machine's, not the generator's.
pub(crate) fn settle(attempts: u32, measure: impl Fn() -> Result<(), String>) {
    let (mut complaints, mut is_always_crowded) = (Vec::new(), true);
    for _ in 0..attempts {
        let before = SystemSample::take();
        match measure() {
            Ok(()) => return,
            Err(complaint) => complaints.push(complaint),
        }
        let pressure = SystemSample::take().since(&before).cpu_pressure;
        is_always_crowded &= pressure.is_some_and(|share| share > CROWDED);
    }
    assert!(is_always_crowded, "in {attempts} runs: {complaints:#?}");
    let crowded = format_args!("skipped: other programs want the CPUs, and {}\n", complaints.join("; "));
    // Not by `eprintln!`, which the test harness hides when a test passes.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), crowded);
}
