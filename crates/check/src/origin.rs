//! A server that has given one plain answer over HTTP/2, against which all others are compared.

use assay_model::tls::TlsFault;

use crate::objection::{Keeping, Objection, is_alive, needs_served, shown};
use crate::peer::block;
use crate::peer::frame::{END_HEADERS, END_STREAM, Frame, headers};
use crate::peer::{NOT_SPOKEN, Peer, Reply, Theirs, USUAL_TABLE};
use crate::target::Target;

/// The fields of a request, the pseudo-header fields first.
pub(crate) type Fields = Vec<(String, String)>;

/// A server of HTTP/2, and what it answers when it is asked plainly.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) target: Target,
    pub(crate) status: u16,
    /// Absent where it differs from one time to the next.
    pub(crate) body: Option<Vec<u8>>,
    /// How long the body is; of two that differ, the shorter.
    pub(crate) body_bytes: usize,
    /// What it takes.
    pub(crate) theirs: Theirs,
}

impl Origin {
    /// Asks plainly twice, one after the other: a server may take a single stream at once (RFC 9113 §5.1.2).
    pub(crate) fn visit(target: &Target) -> Result<Self, Objection> {
        let fields = fields_of(target);
        let mut peer = Self::peer(target)?;
        let mut ask = |stream| {
            peer.send(&[request(stream, END_STREAM, &fields)])?;
            peer.reply(stream)
        };
        let (first, second) = (ask(1)?, ask(3)?);
        Ok(Self {
            target: target.clone(),
            status: first.status,
            body_bytes: first.body.len().min(second.body.len()),
            body: (first.body == second.body).then_some(first.body),
            theirs: peer.theirs(),
        })
    }

    /// An origin whose server is asked for a rule from now on.
    pub(crate) fn begun(&self) -> Self {
        Self { target: self.target.begun(), ..self.clone() }
    }

    fn peer(target: &Target) -> Result<Peer, Objection> {
        let no_protocol = TlsFault::NoProtocol.to_string();
        Peer::open(target).map_err(|objection| match objection {
            Objection::Broken(why) if why.contains(&no_protocol) => {
                Objection::Broken(format!("{NOT_SPOKEN}: {why}"))
            }
            other => other,
        })
    }

    /// A connection whose settings are told, with windows that limit nothing.
    pub(crate) fn open(&self) -> Result<Peer, Objection> {
        Peer::open(&self.target)
    }

    /// A connection whose client takes what these settings say.
    pub(crate) fn open_with(&self, settings: &[(u16, u32)]) -> Result<Peer, Objection> {
        Peer::open_with(&self.target, settings)
    }

    /// A connection on which nothing has been said.
    pub(crate) fn connect(&self) -> Result<Peer, Objection> {
        Peer::connect(&self.target)
    }

    /// The fields of the plain request.
    pub(crate) fn fields(&self) -> Fields {
        fields_of(&self.target)
    }

    /// The fields of the plain request with another method, and more of them.
    pub(crate) fn fields_with(&self, method: &str, more: &[(&str, &str)]) -> Fields {
        let mut fields = self.fields();
        fields[0].1 = method.to_owned();
        fields.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        fields
    }

    /// The block of the plain request.
    pub(crate) fn block(&self) -> Vec<u8> {
        block::fields(&self.fields())
    }

    /// The plain request.
    pub(crate) fn get(&self, stream: u32) -> Frame {
        request(stream, END_STREAM, &self.fields())
    }

    /// The head of a POST, of which more is to come.
    pub(crate) fn post(&self, stream: u32, more: &[(&str, &str)]) -> Frame {
        request(stream, 0, &self.fields_with("POST", more))
    }

    /// What differs between an answer and the plain one, in words.
    pub(crate) fn difference(&self, reply: &Reply) -> Option<String> {
        if reply.status != self.status {
            return Some(format!("status {} instead of {}", reply.status, self.status));
        }
        let wanted = self.body.as_ref()?;
        (reply.body != *wanted).then(|| format!("body {} instead of {}", shown(&reply.body), shown(wanted)))
    }

    /// Demands that the answer on this stream is the plain one.
    pub(crate) fn plain(&self, peer: &mut Peer, stream: u32) -> Keeping {
        let reply = peer.reply(stream)?;
        self.difference(&reply).map_or(Ok(()), |difference| Err(peer.fault(&difference)))
    }

    /// Sends the plain request on this stream and demands the plain answer.
    pub(crate) fn serves(&self, peer: &mut Peer, stream: u32) -> Keeping {
        peer.send(&[self.get(stream)])?;
        self.plain(peer, stream)
    }

    /// Demands that the body follows of the plain answer whose head has come on this stream.
    pub(crate) fn rest(&self, peer: &mut Peer, stream: u32) -> Keeping {
        let body = peer.body(stream)?;
        match &self.body {
            Some(wanted) if body != *wanted => {
                Err(peer.fault(&format!("body {} instead of {}", shown(&body), shown(wanted))))
            }
            _ => Ok(()),
        }
    }

    /// For rules that need so many streams at once, which a server need not take (RFC 9113 §5.1.2).
    pub(crate) fn needs_streams(&self, many: u32) -> Keeping {
        match self.theirs.streams {
            Some(most) if most < many => {
                let why = format!("{many} streams at once are needed, and it takes {most}");
                Err(Objection::not_applicable(why))
            }
            _ => Ok(()),
        }
    }

    /// For rules that need a table of so many bytes, which a server need not keep (RFC 9113 §6.5.2).
    pub(crate) fn needs_table(&self, bytes: usize) -> Keeping {
        let keeps = self.theirs.table;
        if bytes <= keeps.min(USUAL_TABLE) as usize {
            return Ok(());
        }
        let why = format!("it keeps a table of {keeps} bytes, and {bytes} are needed");
        Err(Objection::not_applicable(why))
    }

    /// For rules about what is refused.
    pub(crate) fn needs_served(&self) -> Keeping {
        needs_served(self.status)
    }

    /// For rules about answers that wait for a window.
    pub(crate) fn needs_body(&self, bytes: usize) -> Keeping {
        if self.body_bytes >= bytes {
            return Ok(());
        }
        let why = format!("the plain answer has {} bytes of body, and {bytes} are needed", self.body_bytes);
        Err(Objection::not_applicable(why))
    }

    /// Whether the plain request is still answered. A server that replaces a worker may need a moment.
    pub(crate) fn is_alive(&self) -> Keeping {
        is_alive(|| self.open().and_then(|mut peer| self.serves(&mut peer, 1)))
    }
}

/// A request.
pub(crate) fn request(stream: u32, flags: u8, fields: &[(String, String)]) -> Frame {
    headers(stream, flags | END_HEADERS, &block::fields(fields))
}

fn fields_of(target: &Target) -> Fields {
    [(":method", "GET"), (":scheme", target.scheme()), (":path", &target.path), (":authority", &target.host)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}
