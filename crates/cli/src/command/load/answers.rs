//! What is right where nobody says: what the server answers before the load (docs/method/answers.md).

use std::time::Duration;

use assay_lab::Url;
use assay_lab::contender::learn::{Door, Lesson, Occasion, Question, learn};
use assay_link::Link;
use assay_load::LoadPlan;
use assay_model::learnt::Learnt;
use assay_model::workload::RequestKind;

use super::plan;
use crate::args::LoadArguments;

/// Knows what was learnt.
pub(super) struct Answers {
    /// Whom to ask; absent where it is not to be asked.
    authority: Option<String>,
    /// Numbers of the requests of which nobody says what is right.
    open: Vec<u32>,
    pub(super) learnt: Vec<Learnt>,
}

impl Answers {
    /// Asks for what the plan leaves open, and has it expect that.
    pub(super) fn learn(arguments: &LoadArguments, plan: &mut LoadPlan) -> Self {
        // Over the user-space stack there is no socket to ask with.
        let is_askable =
            plan.websocket.is_none() && plan.stack.is_kernel() && !plan::is_handed_over(arguments);
        let authority = Url::parse(&arguments.url).ok().map(|url| url.authority()).filter(|_| is_askable);
        // A call that is typed is asked for beside the load; whether one of a workload does harm, nobody says.
        let is_typed_call = plan.grpc && arguments.workload.is_none();
        let is_open = |kind: &RequestKind| kind.expect.is_silent() && (is_typed_call || is_safe(kind));
        let numbered = (0..).zip(&plan.requests);
        let open = numbered.filter(|(_, kind)| is_open(kind)).map(|(number, _)| number).collect();
        let mut answers = Self { authority, open, learnt: Vec::new() };
        answers.ask(plan, Occasion::First);
        answers
    }

    /// Asks once more. Returns whether more turns out to vary than the plan expected.
    pub(super) fn are_looser(&mut self, plan: &mut LoadPlan) -> bool {
        let before = self.learnt.clone();
        self.ask(plan, Occasion::Later);
        before.iter().zip(&self.learnt).any(|(before, now)| before.varies_less_than(now))
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
