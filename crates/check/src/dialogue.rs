//! One connection: bytes out and in, with a limit on every wait, and a transcript for the evidence.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::answer::{Answer, Reading};
use crate::objection::{Keeping, Objection, shown, shown_of};
use crate::target::{Patience, Target};
use crate::transport::Transport;

/// Most bytes that are received in one call.
const READ_BYTES: usize = 64 << 10;
/// Most that wait to be understood: the longest frame of HTTP/2 (RFC 9113 §4.2), and what was received with it.
const WAITING_MAX_BYTES: usize = (16 << 20) + 2 * READ_BYTES;
/// Bytes of what was understood that are kept for the evidence, of its beginning and of its end.
const KEPT_BYTES: usize = 4 << 10;

/// One connection.
pub(crate) struct Dialogue {
    transport: Transport,
    patience: Patience,
    /// When all has to be over.
    until: Instant,
    sent: Vec<u8>,
    received: Vec<u8>,
    /// How much of that has been understood.
    understood: usize,
    /// How many of the bytes received were dropped from the middle.
    dropped: usize,
    /// Whether the other side has ended its direction or the connection.
    ended: bool,
}

impl Dialogue {
    pub(crate) fn open(target: &Target) -> Result<Self, Objection> {
        let patience = target.patience;
        let until = target.until.unwrap_or_else(|| Instant::now() + patience.rule);
        let mut problem = String::new();
        for address in &target.addresses {
            if Instant::now() >= until {
                return Err(overdue(patience));
            }
            match target.connect.to(address, patience.answer) {
                Ok(socket) => return Self::over(socket, target, until),
                Err(error) => problem = error.to_string(),
            }
        }
        Err(Objection::Broken(format!("no connection: {problem}")))
    }

    fn over(socket: TcpStream, target: &Target, until: Instant) -> Result<Self, Objection> {
        let patience = target.patience;
        let transport = Transport::over(socket, target.tls.as_ref(), patience.answer).map_err(|error| {
            match &target.tls {
                Some(_) => Objection::Broken(format!("the connection could not be secured: {error}")),
                None => Objection::not_applicable(format!("a socket could not be set up: {error}")),
            }
        })?;
        let (sent, received) = (Vec::new(), Vec::new());
        Ok(Self { transport, patience, until, sent, received, understood: 0, dropped: 0, ended: false })
    }

    /// Sends bytes. A peer that no longer listens is no fault here: what it has answered tells why.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Keeping {
        self.write(bytes).map_err(|objection| objection.with(|why| self.fault(why)))
    }

    /// Sends bytes; an objection has no evidence yet.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Keeping {
        if self.is_overdue() {
            return Err(overdue(self.patience));
        }
        self.sent.extend_from_slice(bytes);
        match self.transport.send(bytes, self.until) {
            Err(error) if is_timeout(&error) => Err(Objection::Broken(match self.is_overdue() {
                true => format!("it reads so slowly that {}", too_long(self.patience)),
                false => "it stopped reading".to_owned(),
            })),
            _ => Ok(()),
        }
    }

    fn is_overdue(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish_sending(&mut self) {
        // Fails only where the connection is gone, which reading will show.
        let _ = self.transport.finish_sending(self.until);
    }

    /// The next final answer.
    pub(crate) fn answer(&mut self) -> Result<Answer, Objection> {
        self.demanded(false, is_final)
    }

    /// The next answer that is final or says 100.
    pub(crate) fn answer_or_continue(&mut self) -> Result<Answer, Objection> {
        self.demanded(false, |answer| is_final(answer) || answer.status() == 100)
    }

    /// The next answer, be it an interim one; `None` when the connection ends, or was reset, without one.
    pub(crate) fn any_answer_or_end(&mut self) -> Result<Option<Answer>, Objection> {
        self.next(false, |_| true)
    }

    /// The next final answer, which is to HEAD.
    pub(crate) fn answer_to_head(&mut self) -> Result<Answer, Objection> {
        self.demanded(true, is_final)
    }

    fn demanded(&mut self, to_head: bool, is_wanted: fn(&Answer) -> bool) -> Result<Answer, Objection> {
        self.next(to_head, is_wanted)?.ok_or_else(|| self.fault("it ended the connection without an answer"))
    }

    /// The next final answer; `None` when the connection ends, or was reset, without one.
    pub(crate) fn answer_or_end(&mut self) -> Result<Option<Answer>, Objection> {
        self.next(false, is_final)
    }

    /// The next answer that is wanted. However many others come before, they renew no deadline.
    fn next(&mut self, to_head: bool, is_wanted: fn(&Answer) -> bool) -> Result<Option<Answer>, Objection> {
        let wait = self.patience.answer;
        let deadline = Instant::now() + wait;
        loop {
            let rest = &self.received[self.understood..];
            if rest.is_empty() && self.ended {
                return Ok(None);
            }
            match Answer::read(rest, to_head, self.ended) {
                Reading::Whole(answer, len) => {
                    self.understood += len;
                    if is_wanted(&answer) {
                        return Ok(Some(*answer));
                    }
                }
                Reading::Invalid(why) => {
                    return Err(self.fault(&format!("the answer is no valid HTTP/1.1 ({why})")));
                }
                Reading::Partial if !self.receive_until(deadline)? => {
                    return Err(self.missing("whole answer", wait));
                }
                Reading::Partial => {}
            }
        }
    }

    /// Demands that the connection ends and nothing more comes.
    pub(crate) fn end(&mut self) -> Keeping {
        if self.ends_or_more()? {
            return Err(self.fault("more came behind the last answer"));
        }
        Ok(())
    }

    /// Whether more came, instead of the end of the connection; one of both is demanded.
    pub(crate) fn ends_or_more(&mut self) -> Result<bool, Objection> {
        let deadline = Instant::now() + self.patience.end;
        while !self.ended && self.received.len() == self.understood {
            if !self.receive_until(deadline)? {
                return Err(self.fault("it left the connection open"));
            }
        }
        Ok(self.received.len() > self.understood)
    }

    /// What was received and is no answer of HTTP.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.received[self.understood..]
    }

    /// Passes over so many bytes of it.
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.understood += bytes;
    }

    /// The application protocol that was agreed on over TLS, empty where none was.
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        self.transport.agreed()
    }

    /// Whether the other side has ended its direction or the connection.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// How long it waits for what.
    pub(crate) fn patience(&self) -> Patience {
        self.patience
    }

    /// An objection to something that did not come.
    pub(crate) fn missing(&self, what: &str, wait: Duration) -> Objection {
        self.fault(&format!("no {what} within {:.1} s", wait.as_secs_f64()))
    }

    /// Receives once, be it the end; false when nothing came in time.
    pub(crate) fn receive_until(&mut self, deadline: Instant) -> Result<bool, Objection> {
        self.drop_middle();
        let mut buffer = [0; READ_BYTES];
        match self.transport.receive(&mut buffer, deadline.min(self.until)) {
            Ok(0) => self.ended = true,
            Ok(read) => self.received.extend_from_slice(&buffer[..read]),
            Err(error) if is_timeout(&error) && deadline > self.until => return Err(overdue(self.patience)),
            Err(error) if is_timeout(&error) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A reset is an end, only a ruder one (RFC 9112 §9.6).
            Err(_) => self.ended = true,
        }
        if self.received.len() - self.understood > WAITING_MAX_BYTES {
            return Err(self.fault("it sends more than 16 MiB that make no answer"));
        }
        Ok(true)
    }

    /// Drops of what was understood all but its beginning and its end, once that is much.
    fn drop_middle(&mut self) {
        if self.understood > 2 * KEPT_BYTES + READ_BYTES {
            let middle = KEPT_BYTES..self.understood - KEPT_BYTES;
            self.dropped += middle.len();
            self.understood -= middle.len();
            self.received.drain(middle);
        }
    }

    /// An objection with what was sent and received.
    pub(crate) fn fault(&self, what: &str) -> Objection {
        let shown_received = || shown_of(&self.received, self.received.len() + self.dropped);
        let received = match (self.received.is_empty(), self.ended) {
            (true, true) => "nothing, and the connection ended".to_owned(),
            (true, false) => "nothing".to_owned(),
            (false, true) => format!("{} and the end of the connection", shown_received()),
            (false, false) => shown_received(),
        };
        Objection::Broken(format!("{what}; sent {}, received {received}", shown(&self.sent)))
    }

    /// An objection unless something holds.
    pub(crate) fn demand(&self, holds: bool, otherwise: &str) -> Keeping {
        if holds { Ok(()) } else { Err(self.fault(otherwise)) }
    }
}

/// A rule that a server neither breaks nor keeps in the time for it: nobody demands that it be fast.
fn overdue(patience: Patience) -> Objection {
    Objection::not_applicable(format!("{}, though no single wait was too long", too_long(patience)))
}

fn too_long(patience: Patience) -> String {
    format!("the rule took longer than {:.1} s", patience.rule.as_secs_f64())
}

/// Whether no other answer to the same request follows (RFC 9110 §15.2).
fn is_final(answer: &Answer) -> bool {
    !answer.head.is_interim()
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// More than sockets hold.
    const MUCH_BYTES: usize = 64 << 20;

    /// Listens, and reads one byte a second of the first connection.
    fn one_byte_a_second() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            while matches!(stream.read(&mut [0]), Ok(1)) {
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        address
    }

    #[test]
    fn who_reads_one_byte_a_second_holds_a_rule_up_for_no_longer_than_it_may_take() {
        // So long that it has begun to send in that time on a busy machine too.
        let patience = Patience { rule: Duration::from_secs(2), ..Patience::LONG };
        let much = vec![b'x'; MUCH_BYTES];
        let target = Target::new(&one_byte_a_second(), "/").expect("an address").patience(patience).begun();
        let mut talk = Dialogue::open(&target).expect("a connection");
        let slow = talk.send(&much);
        assert!(
            matches!(&slow, Err(Objection::Broken(why)) if why.contains("reads so slowly that the rule took longer than 2.0 s")),
            "{slow:?}"
        );
        for late in [talk.send(b"x"), talk.answer().map(drop), Dialogue::open(&target).map(drop)] {
            assert!(matches!(&late, Err(Objection::NotApplicable(_))), "{late:?}");
        }
    }
}
