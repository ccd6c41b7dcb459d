//! What is spoken in a trial: the truth is the same in all of them.

use assay_load::{Http, LoadPlan, Span};
use assay_model::load::{Arrival, ErrorClass};
use assay_model::workload::{Expect, MessageKind, RequestKind};
use assay_serve::stub::BODY;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
    WebSocket,
    Grpc,
}

impl Spoken {
    pub(crate) const ALL: [Self; 4] = [Self::Http1, Self::Http2, Self::WebSocket, Self::Grpc];
    pub(crate) const HTTP: [Self; 2] = [Self::Http1, Self::Http2];
    /// Protocols in which each request says what it asks for.
    pub(crate) const WITH_PATHS: [Self; 3] = [Self::Http1, Self::Http2, Self::Grpc];

    /// Every one of `truths` in every protocol.
    pub(crate) fn each_of<T>(truths: &[T]) -> impl Iterator<Item = (Self, &T)> {
        truths.iter().flat_map(|truth| Self::ALL.map(|spoken| (spoken, truth)))
    }

    /// The one whose turn it is.
    pub(crate) fn of_turn(seed: u64) -> Self {
        Self::ALL[(seed % 4) as usize]
    }

    /// `n` requests, of which so many are in flight at most: each on a connection of its own, or several on streams of one.
    pub(crate) fn plan(self, in_flight: u32, arrival: Arrival, n: u64) -> LoadPlan {
        let has_streams = matches!(self, Self::Http2 | Self::Grpc);
        let several =
            [10, 8, 4].into_iter().find(|streams| has_streams && in_flight.is_multiple_of(*streams));
        let pipeline = several.unwrap_or(1);
        LoadPlan {
            connections: in_flight / pipeline,
            pipeline,
            arrival,
            span: Span::Requests(n),
            http: if has_streams { Http::Two } else { Http::One },
            grpc: self == Self::Grpc,
            websocket: (self == Self::WebSocket).then_some(MessageKind::Text),
            ..LoadPlan::new("10.0.0.1:80".parse().unwrap(), vec![self.request("/")])
        }
    }

    /// A request for `path`: it expects the stub's body, or to be given back a message that no other is like.
    pub(crate) fn request(self, path: &str) -> RequestKind {
        let (sent, expected) = match self {
            Self::Http1 | Self::Http2 => (None, BODY),
            Self::WebSocket => (Some("message ${n=sequence}"), "message ${n}"),
            Self::Grpc => (Some("1: \"message ${n=sequence}\""), "1: \"message ${n}\""),
        };
        let status = (self != Self::WebSocket).then_some(200);
        let expect = Expect { status, body: Some(expected.into()), ..Expect::default() };
        RequestKind { body: sent.map(str::to_owned), expect, ..RequestKind::get(path) }
    }

    /// The class of an answer whose status is 500, or which has what stands for that.
    pub(crate) fn failed(self) -> ErrorClass {
        match self {
            Self::Http1 | Self::Http2 => ErrorClass::UnexpectedStatus,
            Self::WebSocket => ErrorClass::EarlyEof,
            Self::Grpc => ErrorClass::RpcStatus,
        }
    }

    /// The class of an answer that is reset in its middle.
    pub(crate) fn broken_off(self) -> ErrorClass {
        match self {
            Self::Http1 | Self::WebSocket => ErrorClass::ResetInBody,
            Self::Http2 | Self::Grpc => ErrorClass::StreamReset,
        }
    }
}

/// What a load speaks.
impl From<&LoadPlan> for Spoken {
    fn from(plan: &LoadPlan) -> Self {
        match plan.http {
            _ if plan.websocket.is_some() => Self::WebSocket,
            _ if plan.grpc => Self::Grpc,
            Http::One => Self::Http1,
            Http::Two => Self::Http2,
        }
    }
}
