//! An experiment with servers of the user's own, with a comment wherever a choice was made for them.

use std::path::Path;

use super::quoted;
use crate::catalogue::Catalogue;
use crate::error::LabError;
use crate::names::name_of;

/// What an experiment is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnServers {
    /// Who is measured; at least one.
    pub servers: Vec<OwnServer>,
    /// The path that everybody is asked for.
    pub path: String,
    /// Numbers of connections.
    pub connections: Vec<u32>,
    /// Most restarts of every server.
    pub rounds: u32,
    /// Longest time for all rounds, in seconds.
    pub budget_s: f64,
}

/// A server of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnServer {
    /// A server that runs already, by its URL without a path.
    Running(String),
    /// A server that assay starts by a command, on a port of its own choice if there is one.
    Command(String, Option<u16>),
}

impl OwnServers {
    /// The text of an experiment that is to be in `file`.
    ///
    /// # Errors
    /// Whatever the reader of experiments says of it: a path, a port or a number that cannot be used.
    pub fn text(&self, file: &Path) -> Result<String, LabError> {
        let parts = [self.head(file), self.length(), self.workload(), self.commands(), self.measure()];
        let text = parts.join("\n");
        Catalogue::check_text(file, &text)?;
        Ok(text)
    }

    fn head(&self, file: &Path) -> String {
        let name = name_of(&file.file_stem().unwrap_or_default().to_string_lossy());
        let running: Vec<String> = self.servers.iter().filter_map(OwnServer::url).map(quoted).collect();
        let number = self.servers.len();
        format!(
            "# Servers of our own, measured beside each other. Every key is explained in assay's schemas/experiment.json.\n\
             name = {}\n\
             about = {}\n\
             \n\
             # Servers that run already, by their URLs. Contenders of the catalogue (`assay list`) and folders (\"./mine\") may stand\n\
             # here too, for workloads that they answer.\n\
             contenders = [{}]\n",
            quoted(&name),
            quoted(&format!(
                "GET {} of {number} {} of our own.",
                self.path,
                if number == 1 { "server" } else { "servers" }
            )),
            running.join(", "),
        )
    }

    fn length(&self) -> String {
        format!(
            "rounds = {}            # most restarts of every server\n\
             until_settled = true   # ends sooner: as soon as every pair is told apart, or shown to be alike\n\
             budget_s = {}         # longest time for all rounds, in seconds\n\
             warmup_s = 10          # longest load given to a fresh server until it no longer gets faster, in seconds\n",
            self.rounds, self.budget_s
        )
    }

    fn workload(&self) -> String {
        format!(
            "# What is asked. Where nothing is expected, right is what each server answers before the load.\n\
             [[workload]]\n\
             name = {name}\n\
             about = {about}\n\
             # before = \"./login.sh\"   # run whenever a server is ready; it prints id=VALUE for ${{id}} below\n\
             \n\
             [[workload.request]]\n\
             method = \"GET\"\n\
             path = {path}\n\
             # headers = [[\"Accept\", \"application/json\"], [\"Cookie\", \"session=${{id}}\"]]\n\
             # expect = {{ status = 200, content_type = \"application/json\", contains = \"id\" }}\n",
            name = quoted(&self.workload_name()),
            about = quoted(&format!("GET {}.", self.path)),
            path = quoted(&self.path),
        )
    }

    fn commands(&self) -> String {
        let told = "# Servers that assay starts, measures and stops. `sh` runs them in this file's folder.\n";
        let blocks: Vec<String> = self.servers.iter().filter_map(OwnServer::block).collect();
        match blocks.is_empty() {
            true => format!(
                "{told}# [[command]]\n# run = \"./server --port $PORT\"   # a free port; for one of its own: port = 8080\n"
            ),
            false => format!("{told}{}", blocks.join("\n")),
        }
    }

    fn measure(&self) -> String {
        let connections: Vec<String> = self.connections.iter().map(u32::to_string).collect();
        let is_h2c = self.servers.iter().filter_map(OwnServer::url).any(|url| url.starts_with("h2c://"));
        let spoken = "protocols = [\"h2c\"]   # HTTP/2 without TLS, as the URLs say\n";
        format!(
            "[[measure]]\n\
             workload = {}\n\
             connections = [{}]   # each a table of its own\n\
             {}\
             # rates = [\"max\", \"50%\", \"common\"]   # response times too: at half of each one's maximum, and at a rate that all can serve\n",
            quoted(&self.workload_name()),
            connections.join(", "),
            if is_h2c { spoken } else { "" },
        )
    }

    /// A name unlike any of the catalogue's, so that its reference server is not asked for what it does not have.
    fn workload_name(&self) -> String {
        match self.path.trim_matches('/') {
            "" => "own".to_owned(),
            path => name_of(&format!("own {path}")),
        }
    }
}

impl OwnServer {
    /// The URL of one that runs already.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Running(url) => Some(url),
            Self::Command(..) => None,
        }
    }

    fn block(&self) -> Option<String> {
        let Self::Command(command, port) = self else { return None };
        let port = match port {
            Some(port) => format!("port = {port}\n"),
            None => {
                "# port = 8080             # where it insists on one; else it finds a free one in $PORT\n"
                    .to_owned()
            }
        };
        Some(format!(
            "[[command]]\nrun = {}\n{port}# name = \"short\"          # what it is called; else its command\n\
             # ready_path = \"/health\"  # answered with 2xx when it is ready; else the first answer tells\n",
            quoted(command)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(servers: Vec<OwnServer>, path: &str) -> Result<String, LabError> {
        let own = OwnServers {
            servers,
            path: path.to_owned(),
            connections: vec![16, 64],
            rounds: 40,
            budget_s: 300.0,
        };
        own.text(Path::new("./My bench.toml"))
    }

    #[test]
    fn it_is_read_as_it_was_meant() {
        let servers = vec![
            OwnServer::Running("http://127.0.0.1:8080".to_owned()),
            OwnServer::Command("node 'a \"b\".js'".to_owned(), Some(3000)),
            OwnServer::Command("./new --port $PORT".to_owned(), None),
        ];
        let text = text(servers, "/users?id=1").expect("an experiment");
        let experiment: assay_model::experiment::Experiment = toml::from_str(&text).expect("TOML");
        assert_eq!(experiment.name, "my-bench");
        assert_eq!(experiment.contenders, ["http://127.0.0.1:8080"]);
        let commands: Vec<_> = experiment.commands.iter().map(|own| (own.run.as_str(), own.port)).collect();
        assert_eq!(commands, [("node 'a \"b\".js'", Some(3000)), ("./new --port $PORT", None)]);
        assert_eq!(experiment.workloads[0].requests[0].path, "/users?id=1");
        assert_eq!(experiment.measures[0].workload, experiment.workloads[0].name);
        assert_eq!((experiment.rounds, experiment.budget_s), (40, Some(300.0)));
    }

    #[test]
    fn it_speaks_what_the_urls_say() {
        let spoken = |url: &str| {
            let text = text(vec![OwnServer::Running(url.to_owned())], "/").expect("an experiment");
            let experiment: assay_model::experiment::Experiment = toml::from_str(&text).expect("TOML");
            experiment.measures[0].protocols.clone()
        };
        assert_eq!(spoken("h2c://127.0.0.1:8080"), [assay_model::protocol::Protocol::H2c]);
        assert_eq!(spoken("http://127.0.0.1:8080"), []);
    }

    /// What is written as a comment is meant to be uncommented.
    #[test]
    fn what_is_left_as_a_comment_can_be_used() {
        let text = text(vec![OwnServer::Command("x".to_owned(), None)], "/").expect("an experiment");
        let key =
            |line: &'_ str| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).map(str::to_owned);
        let used: String =
            text.lines().map(|line| key(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
        assert!(used.lines().filter(|line| line.starts_with("ready_path")).count() == 1, "{used}");
        Catalogue::check_text(Path::new("e.toml"), &used).expect("an experiment too");
    }

    #[test]
    fn what_cannot_be_measured_is_told() {
        let command = || vec![OwnServer::Command("x".to_owned(), None)];
        let told = text(command(), "users").expect_err("no path").to_string();
        assert!(told.contains("`users` is no request target; begin with /"), "{told}");
        let told = text(vec![OwnServer::Command(" ".to_owned(), None)], "/").expect_err("none").to_string();
        assert!(told.contains("the command is empty"), "{told}");
    }
}
