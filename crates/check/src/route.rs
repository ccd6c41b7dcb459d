//! The test types, and where a server answers them.

/// A test type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestType {
    /// An object serialised anew for every request.
    Json,
    /// A short text, pipelined.
    Plaintext,
    /// A random row of a table.
    Db,
    /// Several rows, each read with a query of its own.
    Queries,
    /// A page of all rows of a table.
    Fortunes,
    /// Several rows read, changed and written.
    Updates,
    /// Several rows from the server's memory.
    Cached,
    /// People, rooms with passwords, and messages.
    Chat,
    /// Messages that come back over a WebSocket.
    WebSocket,
}

/// Where a server answers a test type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What is answered there.
    pub kind: TestType,
    /// The path with its query, for all but [`TestType::Chat`], which has many; the number behind its last `=` is how many rows are asked
    /// for, where that can be chosen.
    pub path: String,
    /// The right page, for [`TestType::Fortunes`].
    pub page: Option<String>,
}

impl TestType {
    /// Every type.
    pub const ALL: [Self; 9] = [
        Self::Json,
        Self::Plaintext,
        Self::Db,
        Self::Queries,
        Self::Fortunes,
        Self::Updates,
        Self::Cached,
        Self::Chat,
        Self::WebSocket,
    ];

    /// The type that a workload, or a family of them, of this name asks for.
    pub fn of_workload(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "plaintext" => Some(Self::Plaintext),
            "db" => Some(Self::Db),
            "queries" => Some(Self::Queries),
            "fortunes" => Some(Self::Fortunes),
            "updates" => Some(Self::Updates),
            "cached" => Some(Self::Cached),
            "chat" | "chat-read" | "chat-post" => Some(Self::Chat),
            "websocket" | "websocket-binary" => Some(Self::WebSocket),
            _ => None,
        }
    }
}
