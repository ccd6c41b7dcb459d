//! One request before any load: does somebody answer, and rightly?
//!
//! Over the kernel's stack we ask ourselves. Over the user-space stack there is no socket to ask with, so the generator is
//! sent with a single request; it checks the answer as it does under load.

use std::time::Duration;

use assay_model::experiment::Span;
use assay_model::learnt::is_redirection;
use assay_model::load::{Arrival, ErrorClass, LoadReport};
use assay_model::record::{NotRun, Stage};
use assay_model::tls::TlsFault;
use assay_model::workload::{OWN_WORKLOAD, RequestKind, Workload};

use super::answer::{self, Response};
use super::ask::{AskError, Door, ask};
use super::{OnUserStack, StartOrder};
use crate::generator::{LoadOrder, write_workload};
use crate::stack::UserEnd;
use crate::url::Scheme;

/// Longest wait for one answer, unless the load waits longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait while a server starts on the user-space stack, where nobody refuses a connection before it has brought its stack: a
/// shorter wait and another try find it sooner.
pub(super) const USER_START_TIMEOUT: Duration = Duration::from_millis(500);
const MEND: &str = "mend the server, or leave the workload out that it does not answer";
const UNANSWERED: &str = "see what keeps the server from answering";
const SLOW: &str = "see what keeps the server from answering, or give it longer (--timeout)";

/// Longest wait for one answer before a load that waits so long itself, if a load follows.
pub(crate) fn answer_timeout(load_timeout: Option<Duration>) -> Duration {
    load_timeout.map_or(ANSWER_TIMEOUT, |timeout| timeout.max(ANSWER_TIMEOUT))
}

/// Who says what is asked, and so can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskedBy {
    /// The command line: one request, with what it expects.
    Arguments,
    /// Workloads of files.
    Files,
}

impl AskedBy {
    /// The source of what `workloads` ask.
    pub(super) fn of(workloads: &[Workload]) -> Self {
        match workloads.iter().all(|workload| workload.name == OWN_WORKLOAD) {
            true => Self::Arguments,
            false => Self::Files,
        }
    }

    /// What to do about an answer that is not the right one. Some statuses say themselves what is missing (RFC 9110 §15.5).
    fn mend(self, status: Option<u16>) -> &'static str {
        match (self, status) {
            (Self::Arguments, Some(404)) => "nothing is at this path: give the one that it answers (--path)",
            (Self::Arguments, Some(401 | 403)) => {
                "it wants to know who asks: a run takes a header (-H), a command that gets a token (--before), or this status for \
                 right (--expect-status)"
            }
            (Self::Arguments, Some(status)) if is_redirection(status) => {
                "it redirects: give the path that it leads to (--path), or this status for right (--expect-status)"
            }
            (Self::Arguments, _) => "mend the server, or say what is right (--expect-status, --expect-body)",
            (Self::Files, Some(404)) => {
                "nothing is at this path: let the server answer it, or leave the workload out"
            }
            (Self::Files, Some(401 | 403)) => {
                "it wants to know who asks: a run takes a command that gets a token (--before); or leave the workload out"
            }
            (Self::Files, Some(status)) if is_redirection(status) => {
                "it redirects: let the workload ask where that leads to, or leave the workload out"
            }
            (Self::Files, _) => MEND,
        }
    }

    /// What to do about an answer that is none of HTTP, or not whole: there no expectation helps.
    fn mend_invalid(self) -> &'static str {
        match self {
            Self::Arguments => "see that HTTP is spoken at this port, and in the server's log why it ends so",
            Self::Files => "see that HTTP is spoken at this port, or leave the workload out",
        }
    }
}

/// Asks over the kernel's stack; a problem of stage `Answer` means that somebody answered.
pub(super) fn over_kernel(
    order: &StartOrder<'_>,
    authority: &str,
    request: &RequestKind,
) -> Result<(), NotRun> {
    let (link, by) = (order.link, AskedBy::of(&order.workloads));
    let door = Door { link, authority, tls: order.client, protocol: order.protocol };
    let what = format!("{} {}", request.method, request.path);
    let request = request
        .example()
        .map_err(|error| problem(Stage::Answer, format!("{what}: {error}"), by.mend(None)))?;
    match ask_to_the_end(door, &request, order) {
        Ok(answer) => match answer::fault(&request.expect, &answer) {
            None => Ok(()),
            Some(fault) => {
                let mend = by.mend(Some(answer.status));
                let leads = answer.location.map_or_else(String::new, |to| format!(", which leads to {to}"));
                Err(problem(Stage::Answer, format!("{what} was answered with {fault}{leads}"), mend))
            }
        },
        Err(error @ AskError::Invalid { .. }) => {
            Err(problem(Stage::Answer, format!("{what}: {error}"), by.mend_invalid()))
        }
        Err(error) if error.is_answer() => {
            Err(problem(Stage::Answer, format!("{what}: {error}"), by.mend(None)))
        }
        Err(AskError::Refused(_)) => Err(nobody(authority)),
        Err(error) => {
            let mend = mend_unanswered(&error, order.load_timeout.is_some());
            Err(problem(Stage::Start, format!("{what}: {error}"), mend))
        }
    }
}

/// Asks again where a signal came between that was none to stop.
fn ask_to_the_end(
    door: Door<'_>,
    request: &RequestKind,
    order: &StartOrder<'_>,
) -> Result<Response, AskError> {
    loop {
        match ask(door, request, answer_timeout(order.load_timeout)) {
            Err(AskError::Interrupted) if !order.stop.is_requested() => {}
            asked => return asked,
        }
    }
}

/// What to do where no whole answer came; before a load, it can be given longer.
fn mend_unanswered(error: &AskError, is_before_load: bool) -> &'static str {
    match error {
        AskError::Timeout(_) if is_before_load => SLOW,
        AskError::Interrupted => "begin again, and leave it the time to answer",
        AskError::Connection(error) => {
            let fault = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsFault>());
            fault.and_then(|fault| ErrorClass::from(*fault).remedy_of_tls()).unwrap_or(UNANSWERED)
        }
        _ => UNANSWERED,
    }
}

/// Asks over the user-space stack, from its `end` of the wire.
pub(super) fn over_user(
    order: &StartOrder<'_>,
    (user, end): (OnUserStack<'_>, &UserEnd),
    authority: &str,
    request: &RequestKind,
    timeout: Duration,
) -> Result<(), NotRun> {
    let file = user.work.join("probe.json");
    let workload = Workload {
        name: "probe".to_owned(),
        grpc: order.protocol.is_grpc(),
        requests: vec![request.clone()],
        ..Workload::default()
    };
    write_workload(&file, &workload)
        .map_err(|error| problem(Stage::Start, error.to_string(), "make room"))?;
    let load = LoadOrder {
        url: &format!("{}://{authority}", Scheme::of(order.client.is_some()).name()),
        workload: &file,
        // One on each queue, behind which is a worker of its own.
        connections: user.queues.into(),
        pipeline: 1,
        protocol: order.protocol,
        arrival: Arrival::Closed,
        warmup_s: 0.0,
        window: Span::Requests(user.queues.into()),
        timeout_s: timeout.as_secs_f64(),
        cpus: &user.generator_cpus.to_string(),
        generators: 1,
        hosts: None,
        seed: 0,
        stack: Some(end),
        authority: order.tls.map(|tls| &*tls.authority),
    };
    let report = load.measure(order.tools, order.link, user.work, &mut || !order.stop.is_immediate());
    let what = format!("{} {}", request.method, request.path);
    match report {
        Ok(report) => judged(&report, user.queues, &what, authority),
        Err(error) => Err(problem(
            Stage::Start,
            format!("{what}: {error}"),
            "see what keeps the generator from the wire",
        )),
    }
}

/// What the generator's report says of its only request on each queue.
fn judged(report: &LoadReport, queues: u16, what: &str, authority: &str) -> Result<(), NotRun> {
    if report.books.ok >= queues.into() {
        return Ok(());
    }
    let Some(class) = report.books.errors.keys().next() else { return Err(nobody(authority)) };
    if class.is_wrong_answer() {
        let seen = report.samples.first().map_or_else(|| class.to_string(), |sample| sample.detail.clone());
        return Err(problem(Stage::Answer, format!("{what} was answered wrongly: {seen}"), MEND));
    }
    Err(match class {
        ErrorClass::HeadTimeout | ErrorClass::BodyTimeout | ErrorClass::SendTimeout => {
            problem(Stage::Start, format!("{what}: no complete answer in time"), SLOW)
        }
        _ => nobody(authority),
    })
}

fn nobody(authority: &str) -> NotRun {
    problem(Stage::Start, format!("nobody listens at {authority}"), "start the server")
}

fn problem(stage: Stage, reason: String, remedy: &str) -> NotRun {
    NotRun { stage, reason, remedy: Some(remedy.to_owned()), log_tail: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_verdict::testing;

    #[test]
    fn a_remedy_names_what_whoever_asked_can_change() {
        let workload = |name: &str| Workload { name: name.to_owned(), ..Workload::default() };
        let (typed, file) = (AskedBy::of(&[workload(OWN_WORKLOAD)]), AskedBy::of(&[workload("hello")]));
        assert_eq!((typed, file), (AskedBy::Arguments, AskedBy::Files));
        for status in [401, 403] {
            let told = typed.mend(Some(status));
            assert!(["-H", "--before", "--expect-status"].iter().all(|flag| told.contains(flag)), "{told}");
        }
        for status in [None, Some(302), Some(401), Some(404), Some(500)] {
            assert!(!typed.mend(status).contains("workload"), "nobody gave one");
            let told = file.mend(status);
            assert!(told.contains("leave the workload out") && !told.contains("--path"), "{told}");
        }
    }

    #[test]
    fn a_remedy_helps_against_what_befell() {
        for (error, is_before_load, words) in [
            (AskError::Timeout(ANSWER_TIMEOUT), true, "--timeout"),
            (AskError::Connection(std::io::Error::other(TlsFault::UnknownIssuer)), false, "--cacert"),
            (AskError::Connection(std::io::Error::other("reset")), false, UNANSWERED),
            (AskError::Interrupted, false, "begin again"),
        ] {
            let told = mend_unanswered(&error, is_before_load);
            assert!(told.contains(words), "{error}: {told}");
        }
        // Nothing that is asked without a load has that argument.
        assert!(!mend_unanswered(&AskError::Timeout(ANSWER_TIMEOUT), false).contains("--timeout"));
        for by in [AskedBy::Arguments, AskedBy::Files] {
            assert!(!by.mend_invalid().contains("--expect"), "{}", by.mend_invalid());
            assert!(by.mend(Some(302)).contains("redirects"), "{}", by.mend(Some(302)));
        }
    }

    #[test]
    fn who_waits_longer_under_load_waits_longer_before_it() {
        let of = |seconds| answer_timeout(Some(Duration::from_secs(seconds)));
        assert_eq!((of(20), of(1)), (Duration::from_secs(20), ANSWER_TIMEOUT));
        assert_eq!(answer_timeout(None), ANSWER_TIMEOUT);
    }

    #[test]
    fn one_right_answer_is_enough_and_a_failure_tells_whether_somebody_answered() {
        let mut report = testing::load_report(1, 1.0);
        let stage =
            |report: &LoadReport| judged(report, 1, "GET /", "10.77.0.1:80").err().map(|why| why.stage);
        assert_eq!(stage(&report), None);
        report.books.ok = 0;
        assert_eq!(stage(&report), Some(Stage::Start));
        for (class, wanted) in [
            (ErrorClass::ConnectRefused, Stage::Start),
            (ErrorClass::HeadTimeout, Stage::Start),
            (ErrorClass::WrongBody, Stage::Answer),
            (ErrorClass::UnexpectedStatus, Stage::Answer),
        ] {
            report.books.errors = [(class, 1)].into();
            assert_eq!(stage(&report), Some(wanted), "{class}");
        }
    }
}
