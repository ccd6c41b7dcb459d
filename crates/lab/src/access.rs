//! What servers, and those who watch them, are told of a database, wherever it comes from.

use assay_model::database::DatabaseKind;

use crate::hosts::host::JobHandle;

/// How servers reach a database, and how it is observed.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// What it is.
    pub kind: DatabaseKind,
    /// The connection URL of the database, password included: for servers only.
    pub url: String,
    /// The database's job, through which we look at what it uses; absent where it is the user's own.
    pub seen: Option<JobHandle>,
    /// Whether the generator has the same CPUs.
    pub beside_generator: bool,
}
