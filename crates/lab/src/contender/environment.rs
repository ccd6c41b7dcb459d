//! What a contender is told: the variables of its environment, and `${NAME}` in its commands.

use std::ffi::OsString;
use std::path::Path;

use assay_model::contender::ServerCommand;
use assay_model::database::DatabaseKind;
use assay_model::protocol::Protocol;
use thiserror::Error;

use super::Tools;
use crate::names::hint;
use crate::stack::UserEnd;

/// The variables a contender finds in its environment, and that `${NAME}` stands for in its commands.
pub const VARIABLES: [&str; 17] = [
    "ADDRESS",
    "PORT",
    "CPUS",
    "WORKERS",
    "SCRATCH",
    "FILES",
    "DATABASE_URL",
    "MONGODB_URL",
    "ASSAY",
    "WIRE",
    "WIRE_ADDRESS",
    "CERT",
    "KEY",
    "PROTOCOL",
    "UPSTREAM",
    "UPSTREAM_HOST",
    "UPSTREAM_PORT",
];

/// What one start of a contender is about.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The address to listen on.
    pub address: &'a str,
    /// The port to listen on.
    pub port: u16,
    /// The CPUs given, as the kernel lists them.
    pub cpus: &'a str,
    /// How many those are.
    pub workers: usize,
    /// A folder to write into.
    pub scratch: &'a Path,
    /// The programs and files that all contenders are told of.
    pub tools: &'a Tools,
    /// What its database is, and where; absent for one that needs none.
    pub database: Option<(DatabaseKind, &'a str)>,
    /// The server's end of the wire, for one that brings its own stack; absent on the kernel's.
    pub stack: Option<&'a UserEnd>,
    /// The certificate to serve with, and its key; absent for plain HTTP.
    pub tls: Option<(&'a Path, &'a Path)>,
    /// What it is to speak; absent for one that is no server.
    pub protocol: Option<Protocol>,
    /// `host:port` of the server to forward to; absent for all but proxies.
    pub upstream: Option<&'a str>,
}

/// The values of the variables for one start of a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    values: [String; VARIABLES.len()],
}

/// A command, and the variables of its process.
pub type Launching = (Vec<OsString>, Vec<(OsString, OsString)>);

/// A placeholder that stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`${{{name}}}` stands for nothing; {hint}")]
pub struct UnknownPlaceholder {
    name: String,
    hint: String,
}

impl Environment {
    /// The variables for a contender that is told this.
    pub fn new(told: &Told<'_>) -> Self {
        let text = |path: &Path| path.display().to_string();
        let url_of = |wanted: DatabaseKind| match told.database {
            Some((kind, url)) if kind == wanted => url.to_owned(),
            _ => String::new(),
        };
        let (wire, wire_address) =
            told.stack.map_or_else(Default::default, |end| (end.wire.clone(), end.address.clone()));
        let upstream = told.upstream.unwrap_or_default();
        let (upstream_host, upstream_port) = upstream.rsplit_once(':').unwrap_or_default();
        let (certificate, key) = told.tls.map_or_else(Default::default, |(c, k)| (text(c), text(k)));
        Self {
            values: [
                told.address.to_owned(),
                told.port.to_string(),
                told.cpus.to_owned(),
                told.workers.max(1).to_string(),
                text(told.scratch),
                text(&told.tools.files),
                url_of(DatabaseKind::Postgresql),
                url_of(DatabaseKind::Mongodb),
                text(&told.tools.assay),
                wire,
                wire_address.unwrap_or_default(),
                certificate,
                key,
                told.protocol.map(|protocol| protocol.to_string()).unwrap_or_default(),
                upstream.to_owned(),
                upstream_host.to_owned(),
                upstream_port.to_owned(),
            ],
        }
    }

    /// Names and values; those that have none are left out.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.all().filter(|(_, value)| !value.is_empty())
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        VARIABLES.into_iter().zip(self.values.iter().map(String::as_str))
    }

    /// The command of `run` and all variables of its process, filled in.
    ///
    /// # Errors
    /// [`UnknownPlaceholder`] when a name is none of [`VARIABLES`].
    pub fn launching(&self, run: &ServerCommand) -> Result<Launching, UnknownPlaceholder> {
        let fill = |text: &String| self.fill(text).map(OsString::from);
        let command = run.command.iter().map(fill).collect::<Result<_, _>>()?;
        let given = self.pairs().map(|(name, value)| Ok((name.into(), value.into())));
        let own = run.env.iter().map(|(name, value)| Ok((name.into(), fill(value)?)));
        Ok((command, given.chain(own).collect::<Result<_, _>>()?))
    }

    /// `text` with every `${NAME}` replaced, and `$${` made `${`.
    ///
    /// # Errors
    /// [`UnknownPlaceholder`] when a name is none of [`VARIABLES`].
    pub fn fill(&self, text: &str) -> Result<String, UnknownPlaceholder> {
        fill(text, |name| self.all().find(|(known, _)| *known == name).map(|(_, value)| value))
    }
}

/// The first placeholder in `text` that stands for nothing.
pub(crate) fn unknown_placeholder(text: &str) -> Option<UnknownPlaceholder> {
    fill(text, |name| VARIABLES.contains(&name).then_some("")).err()
}

fn fill<'v>(text: &str, value_of: impl Fn(&str) -> Option<&'v str>) -> Result<String, UnknownPlaceholder> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, at) = rest.split_at(start);
        if let Some(before) = before.strip_suffix('$') {
            filled += before;
            filled += "${";
            rest = &at[2..];
            continue;
        }
        let name = at[2..].split('}').next().unwrap_or_default();
        let Some(value) = value_of(name).filter(|_| at[2 + name.len()..].starts_with('}')) else {
            return Err(UnknownPlaceholder { name: name.to_owned(), hint: hint(name, VARIABLES) });
        };
        filled += before;
        filled += value;
        rest = &at[2 + name.len() + 1..];
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secrets;

    fn environment(database: Option<(DatabaseKind, &str)>) -> Environment {
        Environment::new(&Told {
            address: "127.0.0.1",
            port: 8080,
            cpus: "0-1",
            workers: 2,
            scratch: Path::new("/tmp/s"),
            tools: &Tools {
                assay: "/bin/assay".into(),
                files: "/srv/files".into(),
                preload: None,
                secrets: Secrets::default(),
            },
            database,
            stack: None,
            tls: None,
            protocol: Some(Protocol::H2c),
            upstream: None,
        })
    }

    #[test]
    fn placeholders_are_replaced() {
        for (text, wanted) in [
            ("", ""),
            ("plain $PORT", "plain $PORT"),
            ("${PORT}", "8080"),
            ("-l ${ADDRESS}:${PORT} -w${WORKERS}", "-l 127.0.0.1:8080 -w2"),
            ("é${CPUS}é${SCRATCH}", "é0-1é/tmp/s"),
            ("$${PORT} ${ASSAY}", "${PORT} /bin/assay"),
            ("--root=${FILES} ${DATABASE_URL}", "--root=/srv/files "),
            ("--speak=${PROTOCOL}", "--speak=h2c"),
        ] {
            assert_eq!(environment(None).fill(text).expect(text), wanted);
        }
    }

    #[test]
    fn a_contender_without_a_database_finds_no_variable_for_it() {
        assert!(environment(None).pairs().all(|(name, _)| !name.ends_with("_URL")));
    }

    #[test]
    fn a_database_is_told_by_the_variable_of_its_kind() {
        for kind in DatabaseKind::ALL {
            let environment = environment(Some((kind, "there")));
            let told: Vec<_> = environment.pairs().filter(|(name, _)| name.ends_with("_URL")).collect();
            assert_eq!(told, [(kind.variable(), "there")]);
        }
    }

    #[test]
    fn unknown_placeholders_are_errors() {
        for bad in ["${PROT}", "a ${} b", "${PORT", "${", "${PORT}${x}"] {
            assert!(environment(None).fill(bad).is_err(), "{bad}");
            assert!(unknown_placeholder(bad).is_some(), "{bad}");
        }
        let error = environment(None).fill("${PROT}").expect_err("typo").to_string();
        assert_eq!(error, "`${PROT}` stands for nothing; did you mean PORT?");
    }
}
