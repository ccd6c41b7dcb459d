//! The opening handshake, as a client sends it.

use assay_http::Framing;
use assay_http::render::{RequestSpec, request_head};
use assay_ws::handshake;

use crate::LoadError;
use crate::plan::LoadPlan;

/// What stands in the place of the key, which is new for each connection.
const NO_KEY: &str = "------------------------";

/// A request that only lacks its key.
pub(super) struct Opening {
    head: Vec<u8>,
    key_at: usize,
}

impl Opening {
    /// Renders the request; all messages of a plan travel over the path of the first, with its header fields.
    pub(super) fn new(plan: &LoadPlan) -> Result<Self, LoadError> {
        let Some(kind) = plan.requests.first() else { return Err(LoadError::Plan("no message".to_owned())) };
        let mut fields = vec![
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", handshake::VERSION),
            ("Sec-WebSocket-Key", NO_KEY),
        ];
        fields.extend(kind.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let spec = RequestSpec {
            method: "GET",
            target: &kind.path,
            host: &plan.host,
            fields: &fields,
            framing: Framing::None,
        };
        let mut head = Vec::new();
        let unusable =
            |source| LoadError::Request { method: "GET".to_owned(), path: kind.path.clone(), source };
        request_head(&spec, &mut head).map_err(unusable)?;
        let key = NO_KEY.as_bytes();
        let key_at = head.windows(key.len()).position(|part| part == key).unwrap_or_default();
        Ok(Self { head, key_at })
    }

    /// Appends the request with this key.
    pub(super) fn write(&self, key: &str, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        out[start + self.key_at..][..key.len()].copy_from_slice(key.as_bytes());
    }
}
