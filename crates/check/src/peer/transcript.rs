//! A dialogue in words, for the evidence.

/// Entries at the beginning and at the end that are told.
const TOLD_FIRST: usize = 10;
const TOLD_LAST: usize = 6;

/// The side that has said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What was said, in order; of a long dialogue its beginning and its end.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    first: Vec<Entry>,
    last: std::collections::VecDeque<Entry>,
    /// Entries between both that were dropped.
    dropped: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    side: Side,
    words: String,
    times: usize,
}

impl Transcript {
    pub(crate) fn add(&mut self, side: Side, words: String) {
        let latest = self.last.back_mut().or(self.first.last_mut());
        if let Some(entry) = latest
            && entry.side == side
            && entry.words == words
        {
            entry.times += 1;
            return;
        }
        let entry = Entry { side, words, times: 1 };
        if self.first.len() < TOLD_FIRST {
            return self.first.push(entry);
        }
        self.last.push_back(entry);
        if self.last.len() > TOLD_LAST {
            self.last.pop_front();
            self.dropped += 1;
        }
    }

    /// Whether this side has said anything.
    pub(crate) fn has_heard(&self, side: Side) -> bool {
        self.first.iter().any(|entry| entry.side == side)
    }
}

impl std::fmt::Display for Transcript {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut before = None;
        for entry in &self.first {
            tell(out, &mut before, entry)?;
        }
        if self.dropped > 0 {
            write!(out, "; {} more", self.dropped)?;
            before = None;
        }
        self.last.iter().try_for_each(|entry| tell(out, &mut before, entry))
    }
}

/// Tells an entry, and whose it is where the other side spoke before.
fn tell(out: &mut std::fmt::Formatter<'_>, before: &mut Option<Side>, entry: &Entry) -> std::fmt::Result {
    let who = match entry.side {
        Side::Client => "sent",
        Side::Server => "received",
    };
    match *before {
        None => write!(out, "; {who} ")?,
        Some(side) if side != entry.side => write!(out, "; {who} ")?,
        Some(_) => write!(out, ", ")?,
    }
    *before = Some(entry.side);
    write!(out, "{}", entry.words)?;
    if entry.times > 1 { write!(out, " × {}", entry.times) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_told_in_turn_and_repetitions_counted() {
        let mut transcript = Transcript::default();
        for (side, words) in [
            (Side::Client, "A"),
            (Side::Client, "B"),
            (Side::Client, "B"),
            (Side::Server, "C"),
            (Side::Client, "D"),
        ] {
            transcript.add(side, words.to_owned());
        }
        assert_eq!(transcript.to_string(), "; sent A, B × 2; received C; sent D");
    }

    #[test]
    fn a_long_dialogue_is_told_without_its_middle() {
        let mut transcript = Transcript::default();
        (0..1000).for_each(|i| transcript.add(Side::Server, i.to_string()));
        let told = transcript.to_string();
        assert!(told.starts_with("; received 0, 1,") && told.ends_with(", 999"), "{told}");
        assert!(told.contains("; 984 more; received 994"), "{told}");
    }
}
