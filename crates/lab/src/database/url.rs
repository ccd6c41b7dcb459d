//! The connection URL of a PostgreSQL that the user names.

use std::fmt;
use std::str::FromStr;

/// Beginnings of such a URL (PostgreSQL documentation, 34.1.1.2).
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Parameters that would lead a driver elsewhere than the URL's path does.
const MISLEADING: [&str; 2] = ["dbname", "database"];

/// The URL of a database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS`. Whoever prints it sees no password.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenUrl {
    /// Scheme, user, password, host and port.
    server: String,
    database: String,
    /// From the question mark on, where there is one.
    parameters: String,
}

impl GivenUrl {
    /// Whether it is a way that no other host has: loopback, or a socket of this machine.
    pub(crate) fn is_of_this_host(&self) -> bool {
        let host = self.server.rsplit(['@', '/']).next().unwrap_or_default().to_ascii_lowercase();
        let name = host.split_once(']').or_else(|| host.split_once(':')).map_or(&*host, |(name, _)| name);
        let is_loopback = ["localhost", "[::1"].contains(&name) || name.starts_with("127.");
        is_loopback || name.is_empty() || host.starts_with("%2f")
    }

    /// The URL as it was given, password included.
    pub(super) fn whole(&self) -> String {
        self.at(&self.database)
    }

    /// The database of another name on this server.
    pub(super) fn at(&self, database: &str) -> String {
        format!("{}/{database}{}", self.server, self.parameters)
    }
}

impl FromStr for GivenUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let scheme = SCHEMES.iter().find(|scheme| text.starts_with(**scheme));
        let scheme = scheme.ok_or(
            "write postgres://USER@HOST:PORT/DATABASE, with :PASSWORD behind USER where one is needed",
        )?;
        let end = text[scheme.len()..].find(['/', '?']).map_or(text.len(), |at| scheme.len() + at);
        let (server, rest) = text.split_at(end);
        let (path, parameters) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let database = path.trim_start_matches('/');
        if database.is_empty() || database.contains('/') {
            return Err("name one database behind the host, such as postgres://USER@HOST/postgres");
        }
        let mut names = parameters.split(['?', '&']).map(|pair| pair.split('=').next().unwrap_or(pair));
        if names.any(|name| MISLEADING.contains(&name)) {
            return Err("name the database behind the host, not among the parameters");
        }
        Ok(Self {
            server: server.to_owned(),
            database: database.to_owned(),
            parameters: parameters.to_owned(),
        })
    }
}

impl fmt::Display for GivenUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = SCHEMES.iter().find(|scheme| self.server.starts_with(**scheme)).copied();
        let host = self.server.rsplit(['@', '/']).next().unwrap_or_default();
        write!(out, "{}{host}/{}", scheme.unwrap_or_default(), self.database)
    }
}

impl fmt::Debug for GivenUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_of_the_same_server_is_named_by_the_path_alone() {
        for (given, wanted) in [
            ("postgres://h/a", "postgres://h/b"),
            (
                "postgresql://u:p%2Fw@h:5433/a?sslmode=disable",
                "postgresql://u:p%2Fw@h:5433/b?sslmode=disable",
            ),
            ("postgres://u@%2Frun%2Fpostgresql/a", "postgres://u@%2Frun%2Fpostgresql/b"),
            ("postgres:///a?host=/run/postgresql", "postgres:///b?host=/run/postgresql"),
        ] {
            let url: GivenUrl = given.parse().expect(given);
            assert_eq!((url.whole().as_str(), url.at("b").as_str()), (given, wanted));
        }
    }

    #[test]
    fn it_is_known_whether_another_host_has_that_way() {
        for (given, is_here) in [
            ("postgres://localhost/a", true),
            ("postgres://u:p@127.0.0.2:5433/a", true),
            ("postgres://[::1]:5433/a", true),
            ("postgres://[::1]/a", true),
            ("postgres://[2001:db8::1]:5433/a", false),
            ("postgres:///a?host=/run/postgresql", true),
            ("postgres://u@%2Frun%2Fpostgresql/a", true),
            ("postgres://u:p@10.0.0.3:5433/a", false),
            ("postgres://db.example/a", false),
        ] {
            let url: GivenUrl = given.parse().expect(given);
            assert_eq!(url.is_of_this_host(), is_here, "{given}");
        }
    }

    #[test]
    fn what_names_no_database_or_two_is_refused() {
        for bad in [
            "",
            "host=h password=secret",
            "mysql://h/a",
            "postgres://h",
            "postgres://h/",
            "postgres://h/a/b",
            "postgres://u:s/ecret@h/a",
            "postgres://h?dbname=a",
            "postgres://h/a?sslmode=disable&dbname=b",
        ] {
            let problem = bad.parse::<GivenUrl>().expect_err(bad);
            assert!(!problem.contains("secret"), "{problem}");
            assert!(
                !problem.contains(":PASSWORD@"),
                "who hides passwords would spoil the pattern: {problem}"
            );
        }
    }

    #[test]
    fn whoever_prints_it_sees_no_password() {
        let url: GivenUrl = "postgres://user:secret@h:5433/a?password=secret".parse().expect("URL");
        assert_eq!(
            (url.to_string(), format!("{url:?}")),
            ("postgres://h:5433/a".into(), "postgres://h:5433/a".into())
        );
    }
}
