//! Where threads sleep: the function of the kernel that each was found in, look by look (`/proc/PID/task/TID/wchan`).

use std::collections::BTreeMap;
use std::time::Duration;

use assay_model::profile::Wait;
use assay_model::units::Nanos;

use crate::target::name_of;

/// Threads found asleep, and for how long.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// By name of the thread and channel.
    found: BTreeMap<(String, String), (Duration, u64)>,
    names: BTreeMap<u32, String>,
}

impl Waits {
    /// Looks at every thread; each stands for the time since the last look.
    pub(crate) fn look(&mut self, threads: &[(u32, u32)], since: Duration) {
        for &(pid, tid) in threads {
            let channel = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/wchan"));
            let Some(channel) = channel.ok().as_deref().and_then(asleep_in).map(str::to_owned) else {
                continue;
            };
            let name = self.names.entry(tid).or_insert_with(|| name_of(pid, tid)).clone();
            self.add(name, channel, since);
        }
    }

    fn add(&mut self, thread: String, channel: String, since: Duration) {
        let (time, count) = self.found.entry((thread, channel)).or_default();
        *time += since;
        *count += 1;
    }

    /// The longest first.
    pub(crate) fn longest_first(self) -> Vec<Wait> {
        let wait = |((thread, channel), (time, count)): ((String, String), (Duration, u64))| Wait {
            thread,
            channel,
            time_ns: Nanos::from(time),
            count,
        };
        let mut waits: Vec<Wait> = self.found.into_iter().map(wait).collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.time_ns));
        waits
    }
}

/// What the file says: a function, or 0 of a thread that runs or could.
fn asleep_in(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && text != "0").then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_is_not_asleep() {
        assert_eq!((asleep_in("0"), asleep_in(""), asleep_in("ep_poll\n")), (None, None, Some("ep_poll")));
    }

    #[test]
    fn waits_add_up_by_thread_and_place() {
        let mut waits = Waits::default();
        let ms = Duration::from_millis;
        waits.add("worker".to_owned(), "futex_wait_queue".to_owned(), ms(20));
        waits.add("worker".to_owned(), "ep_poll".to_owned(), ms(30));
        waits.add("worker".to_owned(), "ep_poll".to_owned(), ms(20));
        let waits = waits.longest_first();
        assert_eq!(
            (waits[0].channel.as_str(), waits[0].time_ns, waits[0].count),
            ("ep_poll", Nanos::from_millis(50), 2)
        );
        assert_eq!(waits[1].count, 1);
    }

    #[test]
    fn a_sleeping_process_is_found_where_it_sleeps() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let threads = [(child.id(), child.id())];
        let mut waits = Waits::default();
        // It sleeps when its program has been read, for which it may wait as well; unless the kernel hides where.
        let began = std::time::Instant::now();
        let sleeps = |waits: &Waits| waits.found.keys().any(|found| found.1.contains("nanosleep"));
        while !sleeps(&waits) && began.elapsed() < Duration::from_secs(5) {
            waits.look(&threads, Duration::from_millis(10));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        let waits = waits.longest_first();
        if waits.is_empty() {
            return assay_skip::skip("root", "this kernel hides where threads sleep");
        }
        assert!(
            waits.iter().any(|wait| wait.thread == "sleep" && wait.channel.contains("nanosleep")),
            "{waits:?}"
        );
    }
}
