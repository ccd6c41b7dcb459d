//! Times that fail are believed only where the machine was not crowded; also used by the oracle's tests of processes.

use assay_host::system::SystemSample;

/// Share of a run in which some task waited for a CPU that makes its times worthless. Both sides are on CPUs of their own and
/// hardly wait for each other.
const CROWDED: f64 = 0.2;
/// The same for the share of all CPU time that a hypervisor took: it takes milliseconds at once, and each of them is in the time of
/// all that was under way then.
const STOLEN: f64 = 0.05;

/// Measures until the times are as they should be, so many times at most. Where tasks waited for a CPU each time, or a hypervisor
/// took them away, the times are the machine's, not the generator's.
pub(crate) fn settle(attempts: u32, measure: impl Fn() -> Result<(), String>) {
    let (mut complaints, mut is_always_crowded) = (Vec::new(), true);
    for _ in 0..attempts {
        let before = SystemSample::take();
        match measure() {
            Ok(()) => return,
            Err(complaint) => complaints.push(complaint),
        }
        let meanwhile = SystemSample::take().since(&before);
        let is_stolen = meanwhile.shares(&meanwhile.cpus.keys().copied().collect()).steal > STOLEN;
        is_always_crowded &= is_stolen || meanwhile.cpu_pressure.is_some_and(|share| share > CROWDED);
    }
    assert!(is_always_crowded, "in {attempts} runs: {complaints:#?}");
    let crowded = format_args!(
        "skipped: other programs or a hypervisor want the CPUs, and {}\n",
        complaints.join("; ")
    );
    // Not by `eprintln!`, which the test harness hides when a test passes.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), crowded);
}
