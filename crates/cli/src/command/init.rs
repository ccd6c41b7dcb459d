//! `assay init`: an experiment with servers of one's own to go on from.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use assay_lab::catalogue::{command_for, is_url};
use assay_lab::starter::{OwnServer, OwnServers};
use assay_lab::{Exit, Scheme, Subject, Url};

use super::new::free;
use super::run::{DEFAULT_BUDGET_S, DEFAULT_CONNECTIONS, MOST_ROUNDS, check_names};
use super::written::{told, word};
use crate::args::{InitArguments, value, with_ports};
use crate::ask::{Questions, at_terminal};
use crate::failure::Failure;
use crate::output;

const DEFAULT_FILE: &str = "assay.toml";

/// All that is to be known.
#[derive(Debug, PartialEq, Eq)]
struct Choice {
    servers: Vec<OwnServer>,
    path: String,
    connections: Vec<u32>,
    file: PathBuf,
}

pub(crate) fn run(arguments: &InitArguments) -> Result<Exit, Failure> {
    let choice = choose(arguments)?;
    check(&choice.servers)?;
    let own = OwnServers {
        servers: choice.servers,
        path: choice.path,
        connections: choice.connections,
        rounds: MOST_ROUNDS,
        budget_s: DEFAULT_BUDGET_S,
    };
    assay_file::write_new(&choice.file, own.text(&choice.file)?.as_bytes())?;
    let commands = [format!("assay run -e {}", word(&choice.file))];
    output::result(&told(&choice.file, &[], &commands));
    Ok(Exit::Ok)
}

/// What was given, and what a person says where no server was.
fn choose(arguments: &InitArguments) -> Result<Choice, Failure> {
    let file = arguments.output.clone().unwrap_or_else(|| DEFAULT_FILE.into());
    if !(arguments.urls.is_empty() && arguments.cmd.is_empty()) {
        let (servers, path) = given(arguments)?;
        let connections = match arguments.connections.as_slice() {
            [] => vec![DEFAULT_CONNECTIONS],
            given => given.to_vec(),
        };
        return Ok(Choice { servers, path, connections, file });
    }
    let Some(mut person) = at_terminal() else {
        return Err(Failure::usage(
            "there is no terminal to ask on: name servers by URL, or by the commands that start them, such as \
             `assay init --cmd './old --port $PORT' --cmd './new --port $PORT' --path /users`",
        ));
    };
    asked(arguments, &mut person)
}

/// Servers that were named, and the one path that they are asked for.
fn given(arguments: &InitArguments) -> Result<(Vec<OwnServer>, String), Failure> {
    let mut servers = Vec::new();
    let mut path = arguments.path.clone();
    for text in &arguments.urls {
        let (server, own) = running(text).map_err(Failure::usage)?;
        if let (Some(first), None) = (path.as_ref().filter(|first| **first != own), &arguments.path) {
            return Err(Failure::usage(format_args!(
                "the URLs ask for different paths, {first} and {own}; a comparison needs one: give it with --path"
            )));
        }
        path.get_or_insert(own);
        servers.push(server);
    }
    let commands = with_ports(&arguments.cmd, &arguments.port)?;
    servers.extend(commands.map(|(command, port)| OwnServer::Command(command.clone(), port)));
    Ok((servers, path.unwrap_or_else(|| "/".to_owned())))
}

/// Whether a run could measure them beside each other.
fn check(servers: &[OwnServer]) -> Result<(), Failure> {
    let first = |scheme: &str| {
        let urls = servers.iter().filter_map(OwnServer::url);
        urls.map(str::to_owned).find(|url| url.starts_with(scheme))
    };
    if let (Some(h2c), Some(http)) = (first("h2c://"), first("http://")) {
        return Err(Failure::usage(format_args!(
            "{h2c} is for HTTP/2 and {http} is not; a comparison needs one protocol: write h2c:// for both, or http://"
        )));
    }
    let cwd =
        std::env::current_dir().map_err(|e| Failure::Machine(format!("there is no working folder: {e}")))?;
    let subject = |server: &OwnServer| match server {
        OwnServer::Running(url) => Subject::from_url(url),
        OwnServer::Command(command, port) => Subject::from_command(command, &cwd, *port),
    };
    let subjects: Vec<Subject> = servers.iter().map(subject).collect::<Result<_, _>>()?;
    check_names(&subjects, &cwd)
}

/// A URL as the server and its path.
fn running(text: &str) -> Result<(OwnServer, String), String> {
    if !is_url(text) {
        return Err(match command_for(text) {
            Some(command) => format!("`{text}` is no URL; to have it started, write --cmd '{command}'"),
            None => format!(
                "`{text}` is no URL; write http://HOST:PORT/PATH. A contender of the catalogue needs no file: `assay run {text}`"
            ),
        });
    }
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if !matches!(url.scheme, Scheme::Http | Scheme::H2c) {
        return Err(format!(
            "`{text}`: an experiment measures servers that run already by http:// or h2c://; what it is to secure, or to open WebSockets \
             to, it starts itself: give the command"
        ));
    }
    let server = format!("{}://{}", url.scheme.name(), url.authority());
    Ok((OwnServer::Running(server), url.path))
}

/// Asks for servers, path, connections, and the file to write.
fn asked<R: BufRead, W: Write>(
    arguments: &InitArguments,
    person: &mut Questions<R, W>,
) -> Result<Choice, Failure> {
    let mut servers = Vec::new();
    let mut path = None;
    while let Some((server, own)) = ask_server(servers.len(), person)? {
        servers.push(server);
        path = path.or(own);
    }
    let path = match &arguments.path {
        Some(path) => path.clone(),
        None => person.ask("Path to ask for", Some(path.as_deref().unwrap_or("/")), target)?,
    };
    let connections = match arguments.connections.as_slice() {
        [] => person.ask("Connections, such as 16,64", Some(&DEFAULT_CONNECTIONS.to_string()), numbers)?,
        given => given.to_vec(),
    };
    let file = match &arguments.output {
        Some(file) => file.clone(),
        None => person.ask("File", Some(DEFAULT_FILE), free)?,
    };
    Ok(Choice { servers, path, connections, file })
}

/// One more server, with the path of its URL if it has one; none when there are enough.
fn ask_server<R: BufRead, W: Write>(
    known: usize,
    person: &mut Questions<R, W>,
) -> Result<Option<(OwnServer, Option<String>)>, Failure> {
    let question = match known {
        0 => "Your server: a command that starts it, or its URL if it runs already",
        _ => "Another one (empty: no more)",
    };
    let text = person.ask(question, None, |text| match text {
        "" if known == 0 => {
            Err("is no server; write for example node app.js, or http://127.0.0.1:8080/".to_owned())
        }
        url if Url::has_scheme(url) => running(url).map(|_| url.to_owned()),
        command => Ok(command.to_owned()),
    })?;
    if text.is_empty() {
        return Ok(None);
    }
    if Url::has_scheme(&text) {
        let (server, path) = running(&text).map_err(Failure::usage)?;
        return Ok(Some((server, Some(path))));
    }
    let port = match text.contains("$PORT") || text.contains("${PORT}") {
        true => None,
        false => person.ask("The port that it listens on (empty: it reads $PORT)", None, own_port)?,
    };
    Ok(Some((OwnServer::Command(text, port), None)))
}

fn own_port(text: &str) -> Result<Option<u16>, String> {
    match text.parse() {
        _ if text.is_empty() => Ok(None),
        Ok(port) if port > 0 => Ok(Some(port)),
        _ => Err("is no port; write 1 to 65535".to_owned()),
    }
}

fn target(text: &str) -> Result<String, String> {
    value::path(text).map_err(|_| "is no path; begin with /".to_owned())
}

fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let each = text.split(',').map(|number| value::connections(number.trim()));
    each.collect::<Result<_, _>>()
        .map_err(|_| "is no number of connections; write for example 16,64".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn arguments(urls: &[&str], cmd: &[&str], port: &[u16]) -> InitArguments {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let (urls, cmd, port) = (own(urls), own(cmd), port.to_vec());
        InitArguments { urls, cmd, port, path: None, connections: Vec::new(), output: None }
    }

    fn command(text: &str, port: Option<u16>) -> OwnServer {
        OwnServer::Command(text.to_owned(), port)
    }

    #[test]
    fn what_is_given_is_taken() {
        let choice =
            choose(&arguments(&["http://localhost:8080/users"], &["./a", "./b"], &[3000])).expect("given");
        let running = OwnServer::Running("http://localhost:8080".to_owned());
        assert_eq!(choice.servers, [running, command("./a", Some(3000)), command("./b", None)]);
        assert_eq!((choice.path.as_str(), choice.connections.as_slice()), ("/users", &[64][..]));
        let told = choose(&arguments(&[], &["./a"], &[1, 2])).expect_err("a port too many").to_string();
        assert!(told.contains("2 ports for one command"), "{told}");
        let differing = arguments(&["http://localhost:1/a", "http://localhost:2/b"], &[], &[]);
        let told = choose(&differing).expect_err("two paths").to_string();
        assert!(told.contains("/a and /b") && told.contains("--path"), "{told}");
    }

    #[test]
    fn what_a_run_would_refuse_is_refused_at_once() {
        for url in ["https://localhost:1/", "ws://localhost:1/", "grpc://localhost:1/a.B/C"] {
            let told = choose(&arguments(&[url], &[], &[])).expect_err(url).to_string();
            assert!(told.contains(url) && told.contains("give the command"), "{told}");
        }
    }

    #[test]
    fn what_no_table_could_hold_is_refused_at_once() {
        let told = |urls: &[&str], cmd: &[&str]| {
            let choice = choose(&arguments(urls, cmd, &[]))?;
            check(&choice.servers)
        };
        assert!(told(&["h2c://h:1/", "h2c://h:2/"], &["x"]).is_ok());
        for (urls, cmd, words) in [
            (&["h2c://h:1/", "http://h:2/"][..], &[][..], "one protocol"),
            (&[], &["node a.js", "node a.js"], "the command `node a.js` was given twice"),
            (&[], &["node a.js", "node a_js"], "are both called `node-a-js`"),
            (&["nginx"], &[], "`nginx` is no URL; write http://HOST:PORT/PATH"),
            (&["node a.js"], &[], "--cmd 'node a.js'"),
        ] {
            let told = told(urls, cmd).expect_err(words).to_string();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn a_person_names_servers_until_there_are_enough() {
        let answers = "\nhttp://localhost:8080/users\nnode app.js\nhuge\n3000\n./new --port $PORT\n\n\n16, 64\nfree.toml\n";
        let mut person = Questions::between(answers.as_bytes(), Vec::new());
        let choice = asked(&arguments(&[], &[], &[]), &mut person).expect("answers");
        let running = OwnServer::Running("http://localhost:8080".to_owned());
        let servers = [running, command("node app.js", Some(3000)), command("./new --port $PORT", None)];
        assert_eq!(choice.servers, servers);
        assert_eq!((choice.path.as_str(), choice.connections.as_slice()), ("/users", &[16, 64][..]));
        assert_eq!(choice.file, Path::new("free.toml"));
    }
}
