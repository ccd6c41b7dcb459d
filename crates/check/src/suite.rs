//! Asks for many rules: together where they do not disturb each other, and again, alone, where one was broken.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use assay_model::conformance::{Conformance, RuleFinding, Ruling};

use crate::http2;
use crate::objection::{Keeping, Objection};
use crate::origin::Origin;
use crate::rule::{Question, Rule, Tempo};
use crate::site::Site;
use crate::target::Target;

/// Rules that are asked for at once: enough to hide the waiting, too few to be a load.
const THREADS: usize = 8;

/// Share of a limited time in which rules are begun together; the rest is for those that were broken then, one after the other.
const SHARE_TOGETHER: f64 = 0.5;

/// How much time there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Every rule, however long it takes.
    Full,
    /// No slow rules; those that were not begun in this time are not asked for.
    Within(Duration),
}

/// A server that has answered plainly.
enum Server {
    Http1(Site),
    Http2(Origin),
}

impl Server {
    fn visit(target: &Target) -> Result<Self, Objection> {
        match target.http2 {
            false => Site::visit(target).map(Self::Http1),
            true => Origin::visit(target).map(Self::Http2),
        }
    }

    fn is_alive(&self) -> Keeping {
        match self {
            Self::Http1(site) => site.begun().is_alive(),
            Self::Http2(origin) => origin.begun().is_alive(),
        }
    }

    fn ask(&self, rule: &Rule) -> Keeping {
        match (self, rule.question) {
            (Self::Http1(site), Question::Http1(ask)) => ask(&site.begun()),
            (Self::Http2(origin), Question::Http2(ask)) => ask(&origin.begun()),
            (Self::Http1(_), Question::Http2(_)) => {
                Err(Objection::not_applicable("it is asked over HTTP/1.1"))
            }
            (Self::Http2(_), Question::Http1(_)) => Err(Objection::not_applicable("it is asked over HTTP/2")),
        }
    }
}

/// Asks the server for `rules`, as long as that is `wanted`. Findings stand in the rules' order. One that does not speak HTTP/2
/// and is asked over it breaks one rule alone, for there is nothing to be said of the others.
///
/// # Errors
/// In words, when it gives no valid answer to the plain request, so that there is nothing to vary.
pub fn ask(
    target: &Target,
    rules: &[&'static Rule],
    pace: Pace,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Conformance, String> {
    let began = Instant::now();
    let rules: Vec<&'static Rule> =
        rules.iter().copied().filter(|rule| pace == Pace::Full || rule.tempo != Tempo::Slow).collect();
    let findings = match Server::visit(target) {
        Ok(server) => {
            let keepings = Suite { server: &server, rules: &rules, wanted, pace, began }.ask();
            rules.iter().zip(keepings).map(|(rule, keeping)| finding(rule, keeping)).collect()
        }
        Err(objection) if http2::is_not_spoken(&objection) => vec![finding(&http2::SPOKEN, Err(objection))],
        Err(objection) => return Err(objection.to_string()),
    };
    Ok(Conformance { elapsed_ns: began.elapsed().into(), findings })
}

struct Suite<'a> {
    server: &'a Server,
    rules: &'a [&'static Rule],
    wanted: &'a (dyn Fn() -> bool + Sync),
    pace: Pace,
    began: Instant,
}

impl Suite<'_> {
    fn ask(&self) -> Vec<Keeping> {
        let first = self.together();
        // A server that makes rules wait has used up the time when the first of them is known to be broken.
        let mut has_spare = true;
        let asked = self.rules.iter().zip(first);
        asked.map(|(rule, keeping)| self.settled(rule, keeping, &mut has_spare)).collect()
    }

    /// What counts: what others did at the same time, or the machine, may have been the cause that a rule was broken, so it
    /// is asked for again, alone; one also when the time is over, which `has_spare` tells.
    fn settled(&self, rule: &Rule, first: Option<Keeping>, has_spare: &mut bool) -> Keeping {
        match first {
            Some(Err(Objection::Broken(_) | Objection::Felled(_))) if !self.may_ask_again(has_spare) => {
                let why = format!("broken beside others, and not asked for alone: {}", self.hindrance());
                Err(Objection::not_applicable(why))
            }
            Some(Err(objection @ (Objection::Broken(_) | Objection::Felled(_)))) => {
                match (self.server.is_alive(), objection) {
                    (Ok(()), _) => self.ask_for(rule),
                    (Err(_), Objection::Broken(_)) => Err(gone()),
                    (Err(_), felled) => Err(felled),
                }
            }
            Some(keeping) => keeping,
            None => self.server.is_alive().map_err(|_| gone()).and_then(|()| self.one(rule)),
        }
    }

    fn may_ask_again(&self, has_spare: &mut bool) -> bool {
        (self.wanted)() && (self.has_time(1.0) || std::mem::take(has_spare))
    }

    /// Whether less than this share of the time is over.
    fn has_time(&self, share: f64) -> bool {
        match self.pace {
            Pace::Full => true,
            Pace::Within(span) => self.began.elapsed() < span.mul_f64(share),
        }
    }

    /// What the rules find that may be asked for together, as long as there is time; nothing for the others.
    fn together(&self) -> Vec<Option<Keeping>> {
        let found: Vec<Mutex<Option<Keeping>>> = self.rules.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((rule, place)) = take(&next, self.rules, &found) {
                if rule.tempo != Tempo::Alone && self.has_time(SHARE_TOGETHER) {
                    let keeping = self.one(rule);
                    *place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(keeping);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(work);
            }
        });
        let finding = |place: Mutex<Option<Keeping>>| {
            place.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        found.into_iter().map(finding).collect()
    }

    fn one(&self, rule: &Rule) -> Keeping {
        if !(self.wanted)() || !self.has_time(1.0) {
            return Err(Objection::not_applicable(format!("not asked: {}", self.hindrance())));
        }
        self.ask_for(rule)
    }

    /// Why no rule is asked for any more.
    fn hindrance(&self) -> &'static str {
        if (self.wanted)() { "there was no time left" } else { "the check was stopped" }
    }

    fn ask_for(&self, rule: &Rule) -> Keeping {
        self.server.ask(rule).and_then(|()| self.server.is_alive())
    }
}

fn gone() -> Objection {
    Objection::not_applicable("the server was gone")
}

fn take<'a, R, P>(next: &AtomicUsize, rules: &'a [R], places: &'a [P]) -> Option<(&'a R, &'a P)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((rules.get(index)?, places.get(index)?))
}

fn finding(rule: &Rule, keeping: Keeping) -> RuleFinding {
    let (ruling, evidence) = match keeping {
        Ok(()) => (Ruling::Kept, None),
        Err(Objection::Broken(evidence) | Objection::Felled(evidence)) => (Ruling::Broken, Some(evidence)),
        Err(Objection::NotApplicable(why)) => (Ruling::NotApplicable, Some(why)),
    };
    RuleFinding {
        rule: rule.id.to_owned(),
        sentence: rule.sentence.to_owned(),
        source: rule.source.to_owned(),
        severity: rule.severity,
        ruling,
        evidence,
    }
}
