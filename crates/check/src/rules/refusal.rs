//! What is demanded of the answer to a request that is not HTTP/1.1. Where the plain request is refused too, a refusal tells nothing.

use crate::objection::{Keeping, Objection};
use crate::site::Site;

/// Demands that a request is refused: with 4xx or 5xx, or by ending the connection.
pub(super) fn refused(site: &Site, request: &[u8]) -> Keeping {
    site.needs_served()?;
    let mut talk = site.open()?;
    talk.send(request)?;
    let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
    talk.demand(answer.is_refusal(), &format!("it was served with {}", answer.status()))
}

/// Demands that a request is refused and that the connection ends, so that nothing behind it is ever answered.
pub(super) fn refused_and_ended(site: &Site, request: &[u8]) -> Keeping {
    site.needs_served()?;
    let mut talk = site.open()?;
    talk.send(request)?;
    let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
    talk.demand(answer.is_refusal(), &format!("it was served with {}", answer.status()))?;
    talk.end()
}

/// Demands that nothing behind the first request is served and that the connection ends. The first may be answered, and
/// the rest refused: a server that answers before it has read the body finds out late that it is broken.
pub(super) fn served_at_most_once(site: &Site, request: &[u8]) -> Keeping {
    site.needs_served()?;
    let mut talk = site.open()?;
    talk.send(request)?;
    if talk.answer_or_end()?.is_none() {
        return Ok(());
    }
    if talk.ends_or_more()? {
        let second = talk.answer()?;
        talk.demand(second.is_refusal(), "what lies behind was served")?;
    }
    talk.end()
}

/// Demands that a request is refused or served, but not that the server waits for more of it.
pub(super) fn refused_or_served(site: &Site, request: &[u8]) -> Keeping {
    let mut talk = site.open()?;
    talk.send(request)?;
    let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
    match site.difference(&answer) {
        Some(difference) if !answer.is_refusal() => Err(talk.fault(&difference)),
        _ => Ok(()),
    }
}

/// Demands that a request is refused, or that an element of its head, which names a length, had no effect: the plain
/// request right behind is then answered, and not swallowed as a body.
pub(super) fn refused_or_without_effect(site: &Site, fields: &dyn Fn(usize) -> String) -> Keeping {
    let behind = site.request("GET", "Connection: close\r\n", "");
    let first = site.request("GET", &fields(behind.len()), "");
    refused_or_two_answers(site, &[first, behind].concat())
}

/// Demands that the first of two requests is refused, or that both are answered.
pub(super) fn refused_or_two_answers(site: &Site, requests: &[u8]) -> Keeping {
    site.needs_served()?;
    let mut talk = site.open()?;
    talk.send(requests)?;
    let Some(answer) = talk.answer_or_end()? else { return Ok(()) };
    if answer.is_refusal() || answer.is_last() {
        return Ok(());
    }
    match talk.answer_or_end() {
        Ok(Some(_)) => Ok(()),
        _ => Err(talk.fault("what is no field took effect: the request behind it was swallowed")),
    }
}

/// Every one of several variants keeps the rule; the first that does not is told.
pub(crate) fn each<V: std::fmt::Display>(
    variants: impl IntoIterator<Item = V>,
    keeps: impl Fn(&V) -> Keeping,
) -> Keeping {
    variants.into_iter().try_for_each(|variant| {
        keeps(&variant)
            .map_err(|objection: Objection| objection.on(format!("`{}`", variant.to_string().escape_debug())))
    })
}
