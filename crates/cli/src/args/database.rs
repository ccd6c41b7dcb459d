//! The arguments that name a server for databases.

use assay_lab::LabError;
use assay_lab::database::GivenUrl;
use clap::Args;

use crate::failure::Failure;

/// The variable of the environment that names a server, too.
const URL_VARIABLE: &str = "ASSAY_DATABASE_URL";

/// A PostgreSQL server of the user's own.
#[derive(Args, Clone, Default)]
pub(crate) struct DatabaseArguments {
    /// A PostgreSQL server in place of a private one, postgres://USER:PASSWORD@HOST:PORT/DATABASE: assay makes a database of its
    /// own there and removes it at the end; that of the URL, and what is in it, stays as it is
    #[arg(
        long = "database",
        value_name = "URL",
        env = URL_VARIABLE,
        hide_env_values = true,
        help_heading = "Machine"
    )]
    url: Option<String>,
}

impl DatabaseArguments {
    /// What the environment says, for a command that has no such argument.
    pub(crate) fn of_environment() -> Self {
        Self { url: std::env::var(URL_VARIABLE).ok() }
    }

    /// The server, if one is named. It is read here and not by clap, which would repeat a wrong URL with its password.
    pub(crate) fn given(&self) -> Result<Option<GivenUrl>, Failure> {
        let Some(text) = self.url.as_deref().filter(|url| !url.is_empty()) else { return Ok(None) };
        let url = text.parse::<GivenUrl>().map_err(|problem| LabError::Argument {
            given: format!("--database or {URL_VARIABLE}"),
            problem: problem.to_owned(),
        });
        Ok(Some(url?))
    }
}
