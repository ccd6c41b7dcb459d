//! What is asked of a contender, and what counts as an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mix of requests with their right answers; `workloads/NAME.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Unique name, `[a-z0-9-]+`.
    pub name: String,
    /// One sentence for people.
    pub about: String,
    /// The kinds of request; one is drawn for every request by weight.
    #[serde(rename = "request")]
    pub requests: Vec<RequestKind>,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestKind {
    /// How often this kind is drawn, relative to the others.
    #[serde(default = "one")]
    pub weight: u32,
    /// HTTP method.
    #[serde(default = "get")]
    pub method: String,
    /// Request target in origin form (RFC 9112 §3.2.1).
    pub path: String,
    /// Extra header fields, in order. Host and Content-Length are added by the generator.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Request body, absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The right answer.
    pub expect: Expect,
}

/// The right answer to a request. An absent part is not checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// Status code; absent accepts every 2xx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Exact body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A JSON text; the body must be equal as a JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Media type without parameters, compared without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

fn one() -> u32 {
    1
}

fn get() -> String {
    "GET".to_owned()
}
