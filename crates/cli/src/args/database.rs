//! The arguments that name a server for databases.

use assay_lab::LabError;
use assay_lab::database::GivenUrl;
use clap::Args;

use crate::failure::Failure;

/// A PostgreSQL server of the user's own.
#[derive(Args, Clone)]
pub(crate) struct DatabaseArguments {
    /// A PostgreSQL server in place of a private one, postgres://USER:PASSWORD@HOST:PORT/DATABASE: assay makes a database of its
    /// own there and removes it at the end; that of the URL, and what is in it, stays as it is
    #[arg(
        long = "database",
        value_name = "URL",
        env = "ASSAY_DATABASE_URL",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    url: Option<String>,
}

impl DatabaseArguments {
    /// The server, if one is named. It is read here and not by clap, which would repeat a wrong URL with its password.
    pub(crate) fn given(&self) -> Result<Option<GivenUrl>, Failure> {
        let Some(text) = self.url.as_deref().filter(|url| !url.is_empty()) else { return Ok(None) };
        let url = text.parse::<GivenUrl>().map_err(|problem| LabError::Argument {
            given: "--database or ASSAY_DATABASE_URL".to_owned(),
            problem: problem.to_owned(),
        });
        Ok(Some(url?))
    }
}
