//! What holds a server's answers up: what shows it, and what to do about it.

use assay_model::cause::{Cause, HeldUp};
use assay_model::profile::Waiter;
use assay_model::why::Spending;

use crate::format::{self, duration, percent, quotient};
use crate::words::count_of;

/// Most causes of one server that are told: the first explains it, the next is what would hold it up then.
const MOST_CAUSES: usize = 2;

/// What holds each server up, the first cause of each before what stands behind it.
pub(super) fn sentences(spendings: &[Spending], place: &str) -> Vec<String> {
    spendings.iter().flat_map(|spending| of_server(spending, place)).collect()
}

fn of_server<'s>(spending: &'s Spending, place: &'s str) -> impl Iterator<Item = String> + 's {
    let told = move |(number, held): (usize, &HeldUp)| {
        let begin = if number == 0 { format!("On {place}, ") } else { "Behind that, ".to_owned() };
        format!("{begin}{}. {}.", shown(held, &spending.contender), remedy(&held.by))
    };
    spending.held_up.iter().take(MOST_CAUSES).enumerate().map(told)
}

/// What holds it up, with the figures that show it, within a sentence.
fn shown(held: &HeldUp, who: &str) -> String {
    let by = match &held.by {
        Cause::DelayedAcknowledgement { median_ns, delayed, sends } => format!(
            "delayed acknowledgements: it sends an answer in {} pieces, the last of which waits until the client has acknowledged \
             those before, and that delays it by 40 ms ({} for each answer; half of the answers take {} or more)",
            quotient(*sends),
            quotient(*delayed),
            duration(*median_ns)
        ),
        Cause::AcceptQueue { overflows, connections } => format!(
            "its accept queue: {} found it full, {} came through",
            count_of(*overflows as usize, "connection"),
            format::count(*connections)
        ),
        Cause::Lock { address, class, function, waits, wait_ns, waiter, threads } => format!(
            "{}: {} wait for it, {}{} for each answer",
            lock(*address, class.as_deref(), function.as_deref()),
            count_of(*threads as usize, waiting(*waiter)),
            waits.map(|waits| format!("{} times and ", quotient(waits))).unwrap_or_default(),
            duration(*wait_ns)
        ),
        Cause::Disk { call, calls, ns } => format!(
            "the disk: for each answer it makes {} {call}, which takes {}",
            quotient(*calls),
            duration(*ns)
        ),
        Cause::Link { link, used, from_server } => {
            let way = if *from_server { "from" } else { "to" };
            format!("the link, {link}: {} of it is used on the way {way} the server", percent(*used))
        }
        Cause::OneThread { thread, busy_share, cpus, used } => format!(
            "one thread, `{thread}`: it has work for {} of the time, while {} of the server's {cpus} CPUs are used",
            percent(*busy_share),
            quotient(*used)
        ),
        // Its time stands in the budget, as the mean over all restarts; this is of the one in the middle.
        Cause::Collector { .. } => {
            format!("garbage collection: it takes {} of the CPU time", percent(held.share))
        }
        Cause::SmallBuffers { sends, calls, bytes } => format!(
            "small buffers: it {} with {} calls, of {} each",
            if *sends { "sends an answer" } else { "reads a request" },
            quotient(*calls),
            format::bytes(bytes.round() as u64)
        ),
        Cause::RunQueue { delay_ns, cpu_ns, threads, cpus } => format!(
            "the queue for its CPUs: for each answer its threads run for {} and wait to run for {}, {} on {}",
            duration(*cpu_ns),
            duration(*delay_ns),
            count_of(*threads as usize, "thread"),
            if *cpus == 0 { "CPUs that it shares".to_owned() } else { count_of(*cpus as usize, "CPU") }
        ),
    };
    format!("{who} is held up by {by}")
}

fn lock(address: Option<u64>, class: Option<&str>, function: Option<&str>) -> String {
    let at = address.map(|address| format!("at {address:#x}"));
    let object = class.map(|class| format!("`{class}` {}", at.as_deref().unwrap_or("without an address")));
    match (function, object, at) {
        (Some(function), Some(object), _) => format!("a lock that `{function}` takes, {object}"),
        (Some(function), None, _) => format!("a lock that `{function}` takes"),
        (None, Some(object), _) => format!("the lock {object}"),
        (None, None, Some(at)) => format!("the lock {at}"),
        (None, None, None) => "a lock".to_owned(),
    }
}

fn waiting(waiter: Waiter) -> &'static str {
    match waiter {
        Waiter::Thread => "thread",
        Waiter::Goroutine => "goroutine",
    }
}

/// What to do about it.
fn remedy(cause: &Cause) -> &'static str {
    match cause {
        Cause::DelayedAcknowledgement { .. } => "Set TCP_NODELAY, or send an answer in one piece",
        Cause::AcceptQueue { .. } => {
            "Accept connections as soon as they come, and let more of them wait (the backlog of listen(2), and net.core.somaxconn)"
        }
        Cause::Lock { .. } => "Hold the lock for less time, or divide what it guards",
        Cause::Disk { .. } => "Write the data of several answers with one call",
        Cause::Link { .. } => "Send fewer bytes for each answer, or give it a faster link",
        Cause::OneThread { .. } => "Divide that thread's work among several",
        Cause::Collector { .. } => {
            "Allocate less for each answer, or let it use more memory before it collects"
        }
        Cause::SmallBuffers { .. } => {
            "Use a buffer of several KiB, or gather small pieces with one call (writev(2), readv(2))"
        }
        Cause::RunQueue { .. } => "Run no more threads than there are CPUs, or give it more CPUs",
    }
}
