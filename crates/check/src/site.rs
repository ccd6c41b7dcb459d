//! A server that has given one plain answer, against which all others are compared.

use crate::answer::Answer;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection, is_alive, needs_served, shown};
use crate::target::{Patience, Target};

/// A server, and what it answers when it is asked plainly.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) target: Target,
    pub(crate) plain: Plain,
}

/// The answer to a plain request.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) status: u16,
    /// Absent where it differs from one time to the next.
    pub(crate) body: Option<Vec<u8>>,
    /// Whether the connection stays open behind it.
    pub(crate) keeps_alive: bool,
}

impl Site {
    /// Asks plainly twice.
    pub(crate) fn visit(target: &Target) -> Result<Self, Objection> {
        let plain = Plain { status: 0, body: None, keeps_alive: false };
        let mut site = Self { target: target.clone(), plain };
        let first = site.ask(&site.get())?;
        let second = site.ask(&site.get())?;
        site.plain = Plain {
            status: first.status(),
            keeps_alive: first.head.keeps_alive() && !first.ends_with_connection(),
            body: (first.body == second.body).then_some(first.body),
        };
        Ok(site)
    }

    /// A site whose server is asked for a rule from now on.
    pub(crate) fn begun(&self) -> Self {
        Self { target: self.target.begun(), ..self.clone() }
    }

    pub(crate) fn patience(&self) -> Patience {
        self.target.patience
    }

    /// Lets the other side see what was sent so far apart from what comes.
    pub(crate) fn pause(&self) {
        std::thread::sleep(self.patience().piece);
    }

    pub(crate) fn open(&self) -> Result<Dialogue, Objection> {
        Dialogue::open(&self.target)
    }

    /// One request on a connection of its own, and its answer.
    pub(crate) fn ask(&self, request: &[u8]) -> Result<Answer, Objection> {
        let mut talk = self.open()?;
        talk.send(request)?;
        talk.answer()
    }

    /// The plain request.
    pub(crate) fn get(&self) -> Vec<u8> {
        self.request("GET", "", "")
    }

    /// A request for the plain path; `fields` are whole lines.
    pub(crate) fn request(&self, method: &str, fields: &str, body: &str) -> Vec<u8> {
        self.request_for(method, &self.target.path, fields, body)
    }

    /// A request for another target.
    pub(crate) fn request_for(&self, method: &str, target: &str, fields: &str, body: &str) -> Vec<u8> {
        let host = &self.target.host;
        format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n{body}").into_bytes()
    }

    /// A request for the plain path as a client of HTTP/1.0 writes it.
    pub(crate) fn request_10(&self, method: &str, fields: &str, body: &str) -> Vec<u8> {
        let Target { path, host, .. } = &self.target;
        format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\n{fields}\r\n{body}").into_bytes()
    }

    /// What differs between an answer and the plain one, in words.
    pub(crate) fn difference(&self, answer: &Answer) -> Option<String> {
        if answer.status() != self.plain.status {
            return Some(format!("status {} instead of {}", answer.status(), self.plain.status));
        }
        let wanted = self.plain.body.as_ref()?;
        (answer.body != *wanted).then(|| format!("body {} instead of {}", shown(&answer.body), shown(wanted)))
    }

    /// For rules about connections that carry more than one request.
    pub(crate) fn needs_keep_alive(&self) -> Keeping {
        if self.plain.keeps_alive {
            return Ok(());
        }
        Err(Objection::not_applicable("it closes the connection after every answer"))
    }

    /// For rules about what is refused.
    pub(crate) fn needs_served(&self) -> Keeping {
        needs_served(self.plain.status)
    }

    /// Whether the plain request is still answered. A server that replaces a worker may need a moment.
    pub(crate) fn is_alive(&self) -> Keeping {
        is_alive(|| {
            let answer = self.ask(&self.get())?;
            self.difference(&answer).map_or(Ok(()), |difference| Err(Objection::Broken(difference)))
        })
    }
}
