//! The supervisor proper: starts the command, tells what happens to it, and ends all that is left of it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use assay_host::cpuset::pin_current_thread;
use assay_host::group::Group;
use assay_model::units::Nanos;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, Signal};

use super::ending::{self, Wake};
use super::options::Part;
use super::{Ended, SupervisorError, SupervisorEvent, SupervisorOptions, log, own_program, scratch, tell};

/// Starts the command of `options`, tells `events`, and returns when nothing of it is left.
pub(super) fn supervise(options: &SupervisorOptions, events: &mut dyn Write) -> Result<(), SupervisorError> {
    if let Some(side) = &options.side
        && let Err(error) = assay_link::enter(side)
    {
        // Before any thread is started: a user namespace is entered by a whole process (setns(2)).
        let reason = format!("its side of the link cannot be entered: {error}");
        return tell(events, &SupervisorEvent::Failed { reason });
    }
    ending::lead_a_session_and_adopt_orphans()?;
    let (wake, woken) = ending::forward_signals()?;
    // Behind the namespaces: new capabilities clear it (prctl(2)).
    ending::end_with_parent(options.parent, Signal::TERM)?;
    thread::spawn(move || obey(std::io::stdin(), &wake));
    let scratch: Result<Vec<_>, String> =
        options.scratch.iter().map(|folder| scratch::take(folder)).collect();
    let result = match scratch.and_then(|used| Ok((start(options)?, used))) {
        Ok(((pid, pump), _used)) => {
            let pid_number = pid.as_raw_nonzero().get().unsigned_abs();
            let told =
                tell(events, &SupervisorEvent::Started { pid: pid_number, group: options.group.clone() });
            let grace = if told.is_ok() { watch(pid, options, &woken, events) } else { Duration::ZERO };
            let group = Group::at(options.group.clone());
            ending::end_all(Instant::now() + grace, &woken, &group);
            // Every writer of the pipe is gone, so the pump has reached its end.
            let _ = pump.join();
            told
        }
        Err(reason) => tell(events, &SupervisorEvent::Failed { reason }),
    };
    ending::clear_up(options);
    result
}

/// Reads orders until the end of input, which is an order too: `k` kills at once, anything else means nothing.
fn obey(mut orders: impl Read, wake: &Sender<Wake>) {
    let mut byte = [0];
    while matches!(orders.read(&mut byte), Ok(1)) {
        if byte == *b"k" {
            let _ = wake.send(Wake::Kill);
        }
    }
    let _ = wake.send(Wake::Terminate);
}

type Pump = thread::JoinHandle<()>;

/// Starts the launcher, which becomes the command.
fn start(options: &SupervisorOptions) -> Result<(Pid, Pump), String> {
    let log = assay_file::begin(&options.log).map_err(|error| format!("the log: {error}"))?;
    let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe for the log: {error}"))?;
    let stderr = writer.try_clone().map_err(|error| format!("no pipe for the log: {error}"))?;
    let stdout = match &options.stdout {
        None => Stdio::from(writer),
        Some(path) => assay_file::begin(path).map_err(|error| error.to_string())?.into(),
    };
    let (mut news, theirs) = UnixStream::pair().map_err(|error| format!("no pair of sockets: {error}"))?;
    let mut launcher = own_program(&options.with_part(Part::Launcher));
    launcher
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let child =
        launcher.spawn().map_err(|error| format!("the supervisor could not start itself again: {error}"))?;
    // `launcher` holds our copies of the far ends; we must see theirs close.
    drop(launcher);
    let pump = pump(reader, log, options);
    let mut reason = String::new();
    // The launcher's end closes when it has become the command (close-on-exec), or when it is no more.
    let _ = news.read_to_string(&mut reason);
    if reason.is_empty() { Ok((Pid::from_child(&child), pump)) } else { Err(reason) }
}

/// Writing the log is work for the command, so it is done on the command's CPUs.
fn pump(from: std::io::PipeReader, log: std::fs::File, options: &SupervisorOptions) -> Pump {
    let (limit, cpus) = (options.log_limit_bytes, options.cpus.clone());
    thread::spawn(move || {
        // CPUs that cannot be had were the launcher's to complain about.
        let _ = cpus.map(|cpus| pin_current_thread(&cpus));
        log::pump(from, log, limit);
    })
}

/// Waits until the command ends or an order comes; returns how long its descendants may take to end.
fn watch(pid: Pid, options: &SupervisorOptions, woken: &Receiver<Wake>, events: &mut dyn Write) -> Duration {
    // What the launcher took before it became the command is not the command's.
    let as_launcher = cpu_so_far(pid);
    loop {
        match woken.recv() {
            Ok(Wake::Kill) => return Duration::ZERO,
            Ok(Wake::Terminate) | Err(_) => return options.grace,
            Ok(Wake::Child) => {}
        }
        if let Some(status) = ending::reap(pid) {
            let left_behind = ending::left_behind();
            let (code, signal) = (status.exit_status(), status.terminating_signal());
            // If nobody hears it any more, standard input is about to say so too.
            let cpu_ns = cpu_of_children().map(|all| all - as_launcher);
            let ended = Ended { code, signal, left_behind, reason: None, cpu_ns };
            let _ = tell(events, &SupervisorEvent::Exited(ended));
            return options.grace;
        }
    }
}

/// CPU time of all children that have ended and were waited for, with theirs: here of the command alone, and of orphans of its own.
fn cpu_of_children() -> Option<Nanos> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Some(Nanos::from_micros(u64::try_from(microseconds).unwrap_or(0)))
}

/// CPU time that the first thread of a process has used; none where the kernel does not count it (kernel: scheduler/sched-stats.rst).
fn cpu_so_far(pid: Pid) -> Nanos {
    let text = std::fs::read_to_string(format!("/proc/{}/schedstat", pid.as_raw_nonzero()));
    let first = text.ok().and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
    Nanos(first.unwrap_or(0))
}
