//! The made-up run with profiles of three contenders at one place: what the tables and the page tell of where time goes.

use std::error::Error;

use assay_model::experiment::Cell;
use assay_model::load::Arrival;
use assay_model::profile::{
    CallStack, Facet, Frame, FrameKind, Owner, Profile, Refused, Sampled, SystemCall, Traced, Wait,
};
use assay_model::profiling::Profiling;
use assay_model::record::{Record, Run};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::verdict::Verdict;

/// Answers in each slice.
const ANSWERS: u64 = 30_000;
/// Time between two samples, in nanoseconds.
const INTERVAL_NS: u64 = 500_000;

/// One way in which a server is found busy: functions from the outermost inwards, and its CPU time for an answer in nanoseconds.
type Busy = (&'static [&'static str], u64);

const NGINX: [Busy; 5] = [
    (&["main", "ngx_process_events", "k:do_syscall_64", "k:do_epoll_wait", "k:ep_send_events"], 900),
    (
        &[
            "main",
            "ngx_http_handler",
            "ngx_unix_send",
            "k:do_syscall_64",
            "k:tcp_sendmsg",
            "k:tcp_write_xmit",
        ],
        4_200,
    ),
    (
        &[
            "main",
            "ngx_http_handler",
            "ngx_unix_recv",
            "k:do_syscall_64",
            "k:tcp_recvmsg",
            "k:tcp_rcv_established",
        ],
        2_400,
    ),
    (&["main", "ngx_http_handler", "ngx_http_parse_request_line"], 3_600),
    (&["main", "ngx_http_handler", "libc.so.6:"], 600),
];
const GIN: [Busy; 5] = [
    (&["main.main", "k:do_syscall_64", "k:do_epoll_wait", "k:ep_send_events"], 1_900),
    (&["main.main", "net/http.serve", "k:do_syscall_64", "k:tcp_sendmsg", "k:tcp_write_xmit"], 4_210),
    (&["main.main", "net/http.serve", "k:do_syscall_64", "k:tcp_recvmsg", "k:tcp_rcv_established"], 2_390),
    (&["main.main", "net/http.serve", "gin.ServeHTTP"], 5_200),
    (&["main.main", "runtime.gcBgMarkWorker", "runtime.gcDrain"], 1_700),
];
const NODE: [Busy; 5] = [
    (&["main", "uv_run", "k:do_syscall_64", "k:do_epoll_wait", "k:ep_send_events"], 3_200),
    (&["main", "uv_run", "uv_write", "k:do_syscall_64", "k:tcp_sendmsg", "k:tcp_write_xmit"], 4_190),
    (&["main", "uv_run", "uv_read", "k:do_syscall_64", "k:tcp_recvmsg", "k:tcp_rcv_established"], 2_410),
    (&["main", "uv_run", "j:onrequest", "j:writeHead"], 9_700),
    (&["main", "uv_run", "?"], 1_400),
];

/// Profiles in every life of the three, under hello at the second level.
pub(crate) fn profiled(
    (mut record, mut verdict): (Record, Verdict),
) -> Result<(Record, Verdict), Box<dyn Error>> {
    record.id = format!("{}-profiled", record.id);
    record.experiment.profile = Profiling::Always;
    let cells = record.experiment.cells();
    let cell = cells.get(1).ok_or("three levels")?;
    for (round, run) in
        record.rounds.iter_mut().flat_map(|round| round.runs.iter_mut().map(|run| (round.index, run)))
    {
        let all: &[Busy] = match run.contender.as_str() {
            "nginx" => &NGINX,
            "gin" => &GIN,
            "node" => &NODE,
            _ => continue,
        };
        run.profiles = vec![profile(run, cell, all, u64::from(round))];
    }
    verdict.why = assay_verdict::judge(&record)?.why;
    Ok((record, verdict))
}

/// A life's profile; lives differ by some thousandths.
fn profile(run: &Run, cell: &Cell, all: &[Busy], life: u64) -> Profile {
    let mut sampled =
        Sampled { answers: ANSWERS, interval_ns: Nanos(INTERVAL_NS), cpus: 1, ..Sampled::default() };
    sampled.threads = vec![run.contender.clone()];
    for (at, (functions, ns)) in (0_u64..).zip(all) {
        let differs = life * 7 + at * 3 + life * life * run.contender.len() as u64;
        let samples = ns * ANSWERS / INTERVAL_NS + differs % 7;
        let frames = functions.iter().rev().map(|function| place(&mut sampled.frames, function)).collect();
        sampled.stacks.push(CallStack { owner: Owner::Server, thread: 0, frames, samples });
    }
    let cpu_ns = sampled.samples_of(Owner::Server) * INTERVAL_NS;
    sampled.usage = Usage {
        wall_ns: Nanos::from_millis(1_000),
        user_ns: Nanos(cpu_ns / 2),
        system_ns: Nanos(cpu_ns - cpu_ns / 2),
        voluntary_switches: 30 * if run.contender == "node" { 900 } else { 20 },
        run_delay_ns: Some(Nanos(ANSWERS * 310)),
        threads: 1,
        ..Usage::default()
    };
    sampled.waits = vec![Wait {
        thread: run.contender.clone(),
        channel: "ep_poll".to_owned(),
        time_ns: Nanos::from_millis(240),
        count: 48,
    }];
    let waits = if run.contender == "node" { 42 } else { 1 };
    let traced = traced(&[("epoll_wait", waits * ANSWERS / 10), ("writev", ANSWERS), ("recvfrom", ANSWERS)]);
    let hidden = Refused {
        what: Facet::Symbols,
        why: "a process ended before its functions could be named".to_owned(),
    };
    let refused = if run.contender == "node" { vec![hidden] } else { Vec::new() };
    Profile {
        cell: cell.clone(),
        arrival: Arrival::Closed,
        offset_ns: run.offset_ns,
        sampled,
        traced: Some(traced),
        refused,
    }
}

fn traced(calls: &[(&str, u64)]) -> Traced {
    let call = |(name, count): &(&str, u64)| SystemCall {
        name: (*name).to_owned(),
        count: *count,
        failed: 0,
        time_ns: Nanos(count * 900),
        returned: count * 120,
        ..SystemCall::default()
    };
    Traced { answers: ANSWERS, calls: calls.iter().map(call).collect(), ..Traced::default() }
}

/// The index of a function, which is new or known: `k:` stands before one of the kernel, `j:` before one compiled at run time, a file
/// before one of a library, which may have no name, and `?` for one that is nowhere.
fn place(frames: &mut Vec<Frame>, function: &str) -> u32 {
    let frame = match function.split_once(':') {
        Some(("k", symbol)) => {
            Frame { symbol: Some(symbol.to_owned()), module: None, kind: FrameKind::Kernel }
        }
        Some(("j", symbol)) => Frame { symbol: Some(symbol.to_owned()), module: None, kind: FrameKind::Jit },
        Some((module, symbol)) => Frame {
            symbol: (!symbol.is_empty()).then(|| symbol.to_owned()),
            module: Some(module.to_owned()),
            kind: FrameKind::Native,
        },
        None if function == "?" => Frame { symbol: None, module: None, kind: FrameKind::Unknown },
        None => Frame {
            symbol: Some(function.to_owned()),
            module: Some("server".to_owned()),
            kind: FrameKind::Native,
        },
    };
    let known = frames.iter().position(|of| *of == frame);
    let index = known.unwrap_or(frames.len());
    if known.is_none() {
        frames.push(frame);
    }
    u32::try_from(index).unwrap_or(u32::MAX)
}
