//! What is right where the command line does not say: what the server answers before the load (docs/method/answers.md).

use std::time::Duration;

use assay_lab::Url;
use assay_lab::contender::learn::{Door, Lesson, Occasion, Question, learn};
use assay_link::Link;
use assay_load::LoadPlan;
use assay_model::learnt::Learnt;

use crate::args::LoadArguments;

/// Knows what was learnt.
pub(super) struct Answers {
    /// Whom to ask; absent where somebody else says what is right, or it is not to be asked.
    authority: Option<String>,
    pub(super) learnt: Option<Learnt>,
}

impl Answers {
    /// Asks for what the plan leaves open, and has it expect that.
    pub(super) fn learn(arguments: &LoadArguments, plan: &mut LoadPlan) -> Self {
        let authority = Url::parse(&arguments.url).ok().map(|url| url.authority());
        let authority = authority.filter(|_| is_open(arguments, plan));
        let mut answers = Self { authority, learnt: None };
        answers.ask(plan, Occasion::First);
        answers
    }

    /// Asks once more. Returns whether more turns out to vary than the plan expected.
    pub(super) fn are_looser(&mut self, plan: &mut LoadPlan) -> bool {
        let before = self.learnt.clone();
        self.ask(plan, Occasion::Later);
        before.zip(self.learnt.as_ref()).is_some_and(|(before, now)| before.varies_less_than(now))
    }

    /// A server that does not answer is not learnt from; the load tells what befalls it.
    fn ask(&mut self, plan: &mut LoadPlan, occasion: Occasion) {
        let protocol = plan.protocol();
        let (Some(authority), [kind]) = (&self.authority, plan.requests.as_mut_slice()) else { return };
        let timeout = Duration::from_nanos(plan.timeout.0);
        let question = Question { workload: "", number: 0, kind, timeout };
        let link = Link::loopback();
        let door = Door { link: &link, authority, tls: plan.tls.as_ref(), protocol };
        let lesson = learn(door, question, occasion, self.learnt.as_ref());
        if let Ok(Lesson { learnt, expect: Some(expect) }) = lesson {
            kind.expect = expect;
            self.learnt = Some(learnt);
        }
    }
}

/// Whether nobody says what is right. What is not safe to repeat (RFC 9110 §9.2.1) is not asked beside the load, and over the
/// user-space stack there is no socket to ask with.
fn is_open(arguments: &LoadArguments, plan: &LoadPlan) -> bool {
    let is_safe = matches!(arguments.request.method(), "GET" | "HEAD" | "OPTIONS");
    let is_silent = plan.requests.iter().all(|request| request.expect.is_silent());
    arguments.workload.is_none() && plan.websocket.is_none() && is_silent && is_safe && plan.stack.is_kernel()
}
