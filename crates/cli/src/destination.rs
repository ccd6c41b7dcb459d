//! Load goes to other machines only when a person says so: what stresses a server of one's own is an attack on anybody else's.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};

use assay_host::{addresses, names};
use clap::Args;

use crate::failure::Failure;

/// The consent that can be given beforehand.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct Consent {
    /// Send load to a host that is not this machine without asking; needed where there is no terminal to ask on
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Consent {
    /// Names every one of `hosts` (`host:port`) that is not this machine and asks whether it may be loaded.
    ///
    /// # Errors
    /// Nobody can be asked, or the answer is no; a name that cannot be resolved.
    pub(crate) fn to_hosts<'a>(self, hosts: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
        let resolve = |host: &'a str| {
            let addresses = names::resolve(host)
                .map_err(|error| Failure::usage(format_args!("cannot resolve `{host}`: {error}")))?;
            Ok((host, addresses.iter().map(SocketAddr::ip).collect()))
        };
        let hosts: Vec<(&str, Vec<IpAddr>)> =
            hosts.into_iter().map(resolve).collect::<Result<_, Failure>>()?;
        self.to(&hosts)
    }

    /// Allows one address that was resolved already.
    pub(crate) fn to_address(self, host: &str, address: SocketAddr) -> Result<(), Failure> {
        self.to(&[(host, vec![address.ip()])])
    }

    fn to(self, hosts: &[(&str, Vec<IpAddr>)]) -> Result<(), Failure> {
        if self.yes || hosts.is_empty() {
            return Ok(());
        }
        // What cannot be told is not ours.
        let strangers = strangers(hosts, &addresses::own().unwrap_or_default());
        if strangers.is_empty() {
            return Ok(());
        }
        let strangers = not_this_machine(&strangers);
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(Failure::usage(format_args!(
                "{strangers}: load stresses whoever receives it; if that is allowed to you, add --yes"
            )));
        }
        let mut terminal = std::io::stderr();
        let question = format!("{strangers}. Load stresses whoever receives it. Send it there? [y/N] ");
        let _ = terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush());
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        if is_consent(&answer) { Ok(()) } else { Err(Failure::usage("nothing was sent")) }
    }
}

/// The hosts of which not every address is this machine's, each with what it resolves to.
fn strangers(hosts: &[(&str, Vec<IpAddr>)], own: &BTreeSet<IpAddr>) -> Vec<String> {
    let is_stranger = |address: &&IpAddr| !addresses::is_here(**address, own);
    let tell = |(host, found): &(&str, Vec<IpAddr>)| {
        let foreign = found.iter().find(is_stranger)?.to_string();
        let name = host.rsplit_once(':').map_or(*host, |(name, _)| name).trim_matches(['[', ']']);
        Some(if name == foreign { foreign } else { format!("{name} ({foreign})") })
    };
    hosts.iter().filter_map(tell).collect()
}

/// Says of hosts that they are others.
fn not_this_machine(strangers: &[String]) -> String {
    match strangers {
        [one] => format!("{one} is not this machine"),
        several => format!("{} are not this machine", several.join(" and ")),
    }
}

fn is_consent(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_named_with_their_addresses() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("address");
        let own = BTreeSet::from([ip("192.0.2.7")]);
        let hosts = [
            ("localhost:80", vec![ip("127.0.0.1"), ip("::1")]),
            ("me.example:80", vec![ip("192.0.2.7")]),
            ("you.example:80", vec![ip("192.0.2.8")]),
            // One address of its own does not make the others its own.
            ("both.example:80", vec![ip("127.0.0.1"), ip("192.0.2.9")]),
            ("[2001:db8::1]:8080", vec![ip("2001:db8::1")]),
        ];
        let expected = ["you.example (192.0.2.8)", "both.example (192.0.2.9)", "2001:db8::1"];
        assert_eq!(strangers(&hosts, &own), expected);
        let two = ["192.0.2.8".to_owned(), "192.0.2.9".to_owned()];
        assert_eq!(not_this_machine(&two[..1]), "192.0.2.8 is not this machine");
        assert_eq!(not_this_machine(&two), "192.0.2.8 and 192.0.2.9 are not this machine");
    }

    #[test]
    fn only_yes_is_consent() {
        for answer in ["y\n", "YES\n", " yes \n"] {
            assert!(is_consent(answer), "{answer:?}");
        }
        for answer in ["", "\n", "n\n", "yesterday\n"] {
            assert!(!is_consent(answer), "{answer:?}");
        }
    }
}
