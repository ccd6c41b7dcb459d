//! One load by one generator, whosever it is: started, bounded, ended with all that it started, and its answer doubted.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use assay_model::generator::Told;
use assay_model::units::Nanos;

use super::LoadError;
use super::hosts::ProcessSurroundings;
use super::load::{Load, LoadGenerator, Site};
use super::process::{GeneratorProcess, failed};
use crate::supervisor::SupervisorOptions;
use crate::tools::Tools;
use crate::version::first_version;

/// Beyond the length of the load and a wait for one answer, a generator gets so long to start, to connect and to end.
const GRACE: Duration = Duration::from_secs(40);
/// Longest wait for a version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Share of the time asked for that a load must have lasted: some stop their clocks a little early.
const LEAST_SHARE_OF_TIME: f64 = 0.5;

/// What came of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What the generator says.
    pub told: Told,
    /// CPU time of its processes from start to end; absent where that is not known.
    pub cpu_ns: Option<Nanos>,
    /// The most memory that its first process was seen to have resident, in bytes; absent where nobody looked.
    pub rss_peak_bytes: Option<u64>,
}

/// How a load is made, beyond what is loaded.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Words before the generator's own, such as those of a program that counts its system calls.
    pub under: Vec<OsString>,
    /// Whether its memory is looked at while it runs, which takes a little of its time.
    pub is_weighed: bool,
}

/// Puts a load on a server with `generator`, as long as that is `wanted`.
///
/// # Errors
/// When it refuses the load, fails, takes too long, prints too much, or says what cannot be.
pub fn run(
    generator: &dyn LoadGenerator,
    load: &Load,
    site: &Site<'_>,
    manner: &Manner,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<Finished, LoadError> {
    let title = generator.title();
    let log = site.work.join(format!("{}.log", title.replace(' ', "-")));
    let fail = |problem: String| failed(format!("{title}: {problem}"), &log, site.tools);
    if let Some(why) = generator.refusal(load) {
        return Err(fail(format!("it {why}")));
    }
    let command = generator.command(load, site).map_err(|error| fail(error.to_string()))?;
    let mut options = SupervisorOptions::new(log.clone(), [manner.under.as_slice(), &command].concat());
    (options.side, options.cpus) = (site.link.generator_side(), Some(site.cpus.clone()));
    let timeout = Duration::from_secs(u64::from(load.seconds) + u64::from(load.timeout_s)) + GRACE;
    let most_bytes = generator.most_output_bytes();
    let is_weighed = manner.is_weighed;
    let (tools, surroundings) = (site.tools, ProcessSurroundings::of(None, site.work));
    let job = GeneratorProcess { tools, options, surroundings, timeout, most_bytes, is_weighed };
    let output = job.run(wanted)?;
    if !output.ended.code.is_some_and(|code| generator.exit_codes().contains(&code)) {
        let words = GeneratorProcess::last_words(&log, site.tools).unwrap_or_default();
        return Err(fail(format!("{} {words}", output.ended).trim().to_owned()));
    }
    let told = generator.read(&output.stdout).map_err(|why| fail(format!("its answer has {why}")))?;
    if let Some(why) = doubt(&told, load, output.lasted) {
        return Err(fail(why));
    }
    Ok(Finished { told, cpu_ns: output.ended.cpu_ns, rss_peak_bytes: output.rss_peak_bytes })
}

/// The version that a generator tells of itself; `None` where it tells none.
pub(crate) fn version(generator: &dyn LoadGenerator, tools: &Tools, work: &Path) -> Option<String> {
    let program = generator.tool()?.find()?;
    let log = work.join("generator-version.log");
    let options = SupervisorOptions::new(log.clone(), vec![program.into(), generator.version_flag().into()]);
    let (surroundings, timeout, most_bytes) = (ProcessSurroundings::of(None, work), VERSION_TIMEOUT, 1 << 16);
    let job = GeneratorProcess { tools, options, surroundings, timeout, most_bytes, is_weighed: false };
    // Whatever its status: wrk tells its version as a part of its usage.
    let output = job.run(&mut || true).ok()?;
    first_version(&output.stdout).or_else(|| {
        let written = std::fs::read_to_string(&log).unwrap_or_default();
        first_version(&written)
    })
}

/// Why what a generator says of its load cannot be; it was seen to last for so long.
fn doubt(told: &Told, load: &Load, lasted: Duration) -> Option<String> {
    let (said, asked) = (told.window_ns.as_secs_f64(), f64::from(load.seconds));
    let in_ms = |seconds: f64| (seconds * 1e3).round() / 1e3;
    if said > lasted.as_secs_f64() {
        let lasted = in_ms(lasted.as_secs_f64());
        return Some(format!("it says that it loaded for {} s, and lived for {lasted} s", in_ms(said)));
    }
    if said < asked * LEAST_SHARE_OF_TIME {
        return Some(format!("it says that it loaded for {} s instead of {asked} s", in_ms(said)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_lasts_about_as_long_as_asked_and_no_longer_than_its_process() {
        let load = Load::closed("http://127.0.0.1:1/".to_owned(), 1, 2);
        let doubt = |said_ms: u64| {
            let told = Told { window_ns: Nanos::from_millis(said_ms), ..Told::default() };
            doubt(&told, &load, Duration::from_millis(2500))
        };
        assert_eq!((doubt(1990), doubt(2499)), (None, None));
        assert!(doubt(2600).is_some_and(|why| why.contains("2.6 s, and lived for 2.5 s")));
        assert!(doubt(20).is_some_and(|why| why.contains("instead of 2 s")));
        assert!(doubt(0).is_some(), "no time at all");
    }
}
