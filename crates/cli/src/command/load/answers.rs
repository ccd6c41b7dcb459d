//! What is right where nobody says: what the server answers before the load (docs/method/answers.md).

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_lab::Url;
use assay_lab::contender::learn::{Door, Lesson, Occasion, Question, learn};
use assay_link::Link;
use assay_load::LoadPlan;
use assay_model::learnt::Learnt;
use assay_model::workload::RequestKind;

use super::plan;
use crate::args::LoadArguments;

/// Time between two looks whether the answers are there, or nobody waits for them any more.
const LOOK: Duration = Duration::from_millis(5);

/// Knows what was learnt.
#[derive(Clone)]
pub(super) struct Answers {
    /// Whom to ask; absent where it is not to be asked.
    authority: Option<String>,
    /// Numbers of the requests of which nobody says what is right.
    open: Vec<u32>,
    pub(super) learnt: Vec<Learnt>,
}

impl Answers {
    /// What the plan leaves open.
    pub(super) fn wanted(arguments: &LoadArguments, plan: &LoadPlan) -> Self {
        // Over the user-space stack there is no socket to ask with.
        let is_askable =
            plan.websocket.is_none() && plan.stack.is_kernel() && !plan::is_handed_over(arguments);
        let authority = Url::parse(&arguments.url).ok().map(|url| url.authority()).filter(|_| is_askable);
        // A call that is typed is asked for beside the load; whether one of a workload does harm, nobody says.
        let is_typed_call = plan.grpc && arguments.workload.is_none();
        let is_open = |kind: &RequestKind| kind.expect.is_silent() && (is_typed_call || is_safe(kind));
        let numbered = (0..).zip(&plan.requests);
        let open = numbered.filter(|(_, kind)| is_open(kind)).map(|(number, _)| number).collect();
        Self { authority, open, learnt: Vec::new() }
    }

    /// Asks for it, and has the plan expect what is answered. Returns nothing where `stop` becomes true first: a server that lets one
    /// wait is left to itself then.
    pub(super) fn learn(
        mut self,
        mut plan: LoadPlan,
        occasion: Occasion,
        stop: &AtomicBool,
    ) -> Option<(Self, LoadPlan)> {
        let asking = thread::spawn(move || {
            self.ask(&mut plan, occasion);
            (self, plan)
        });
        while !asking.is_finished() {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            thread::sleep(LOOK);
        }
        Some(asking.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Whether more turned out to vary than was known `before`.
    pub(super) fn are_looser_than(&self, before: &Self) -> bool {
        before.learnt.iter().zip(&self.learnt).any(|(before, now)| before.varies_less_than(now))
    }

    /// A server that does not answer is not learnt from; the load tells what befalls it.
    fn ask(&mut self, plan: &mut LoadPlan, occasion: Occasion) {
        let Some(authority) = &self.authority else { return };
        let (protocol, timeout) = (plan.protocol(), Duration::from_nanos(plan.timeout.0));
        let link = Link::loopback();
        let door = Door { link: &link, authority, tls: plan.tls.as_ref(), protocol };
        for &number in &self.open {
            let Some(kind) = plan.requests.get_mut(number as usize) else { continue };
            let question = Question { workload: "", number, kind, timeout };
            let known = self.learnt.iter().position(|learnt| learnt.request == number);
            let lesson = learn(door, question, occasion, known.map(|at| &self.learnt[at]));
            let Ok(Lesson { learnt, expect: Some(expect) }) = lesson else { continue };
            match known {
                Some(at) => self.learnt[at] = learnt,
                None if occasion == Occasion::First => self.learnt.push(learnt),
                // The load was held against nothing there.
                None => continue,
            }
            kind.expect = expect;
        }
    }
}

/// Whether a request may be repeated beside the load (RFC 9110 §9.2.1).
fn is_safe(kind: &RequestKind) -> bool {
    matches!(kind.method.as_str(), "GET" | "HEAD" | "OPTIONS")
}
