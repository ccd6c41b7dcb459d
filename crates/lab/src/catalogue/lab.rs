//! `lab.toml`: the hosts of a lab as people write them.

use std::path::Path;

use assay_model::cpuset::CpuSet;
use assay_model::lab::{HostRole, Lab, LabHost, Transport};

use super::MAX_TOML_BYTES;
use super::check::Fault;
use super::file::FileText;
use crate::error::LabError;
use crate::names::{is_name, name_of};

/// The keys of a host. An unknown one is an error: with a misspelt `address`, load would go elsewhere.
const KEYS: [&str; 10] = [
    "name",
    "transport",
    "destination",
    "arguments",
    "command",
    "program",
    "roles",
    "address",
    "cpus",
    "ready_timeout_s",
];

/// The lab in a file.
///
/// # Errors
/// When it cannot be read or understood, with the place.
pub fn read_lab(file: &Path) -> Result<Lab, LabError> {
    let text = assay_file::read(file, MAX_TOML_BYTES).map_err(|source| LabError::read(file, source))?;
    understand(file, &text)
}

/// A host as it is typed in place of a name, `ssh:me@box1` or `ssh:me@box1=10.0.0.1`, with what is wrong with it; none where the text begins
/// with no transport that has destinations.
pub fn typed_host(text: &str) -> Option<Result<LabHost, String>> {
    let (transport, rest) = text.split_once(':')?;
    let known = [Transport::Ssh, Transport::Slurm, Transport::Kubernetes];
    let transport = known.into_iter().find(|known| known.name() == transport)?;
    let (destination, address) = rest.split_once('=').map_or((rest, None), |(to, at)| (to, Some(at)));
    let address = match address.map(str::parse).transpose() {
        Ok(address) => address,
        Err(_) => return Some(Err(format!("{text}: behind the `=` stands an IP address, such as 10.0.0.1"))),
    };
    let destination = Some(destination.to_owned());
    let host = LabHost { destination, address, ..LabHost::new(String::new(), transport) };
    if host.machine().is_empty() {
        return Some(Err(format!(
            "{text}: behind the colon stands a host, such as {}:box1",
            transport.name()
        )));
    }
    let host = LabHost { name: name_of(host.machine()), ..host };
    let wrong = fault_of_host(&host).map(|fault| format!("{text}: {}; {}", fault.problem, fault.mend));
    Some(wrong.map_or(Ok(host), Err))
}

fn understand(file: &Path, text: &str) -> Result<Lab, LabError> {
    let source = FileText { file, text };
    let lab: Lab = source.parse_strictly(|table| if table.is_empty() { &["host"] } else { &KEYS })?;
    match fault_of(&lab) {
        Some(fault) => Err(source.invalid(&fault.key, fault.problem, fault.mend)),
        None => Ok(lab),
    }
}

fn fault_of(lab: &Lab) -> Option<Fault> {
    if lab.hosts.is_empty() {
        return Some(fault("host", "there is no host in it", "write a [[host]]"));
    }
    lab.hosts.iter().enumerate().find_map(|(index, host)| {
        let within = |fault: Fault| Fault { key: format!("host.{index}.{}", fault.key), ..fault };
        let is_twice = lab.hosts[..index].iter().any(|other| other.name == host.name);
        let twice = || {
            is_twice.then(|| {
                fault("name", &format!("two hosts are called `{}`", host.name), "rename one of them")
            })
        };
        fault_of_host(host).or_else(twice).map(within)
    })
}

fn fault_of_host(host: &LabHost) -> Option<Fault> {
    let transport = host.transport.name();
    let needless = |key, by: &str| {
        fault(key, &format!("transport `{transport}` has no {key}"), &format!("it is for {by}; remove it"))
    };
    let is_command = host.transport == Transport::Command;
    let is_asked = host.transport.has_destination();
    if !is_name(&host.name) {
        return Some(fault("name", "a name is made of a-z, 0-9 and -", "write for example box1"));
    }
    if is_command && host.command.is_empty() {
        let mend = "write the program and arguments behind which assay's command is written, such as [\"nsenter\", \"--net=…\"]";
        return Some(fault("transport", "transport `command` needs a command", mend));
    }
    if !is_command && !host.command.is_empty() {
        return Some(needless("command", "transport `command`"));
    }
    if !is_asked && host.destination.is_some() {
        return Some(needless("destination", "ssh, slurm and kubernetes"));
    }
    if !is_asked && !host.arguments.is_empty() {
        return Some(needless("arguments", "ssh, slurm and kubernetes"));
    }
    if host.transport == Transport::Local && host.program.is_some() {
        return Some(needless("program", "other hosts"));
    }
    if host.destination().starts_with('-') {
        return Some(fault("destination", "a destination begins with no hyphen", "options are `arguments`"));
    }
    if let Some(Err(error)) = host.cpus.as_ref().map(|list| list.parse::<CpuSet>()) {
        return Some(fault("cpus", &error.to_string(), "such as \"0-3,8\""));
    }
    if !(host.ready_timeout_s > 0.0 && host.ready_timeout_s <= 86_400.0) {
        return Some(fault("ready_timeout_s", "it is no time", "write seconds, at most 86400"));
    }
    fault_of_roles(host)
}

/// The fault of a host on which what is to be started would take the CPU time of something that is measured, or cannot be reached.
fn fault_of_roles(host: &LabHost) -> Option<Fault> {
    let is_away = host.transport != Transport::Local;
    let has = |role| host.address.is_none() && host.roles.contains(&role);
    if is_away && has(HostRole::Server) {
        let mend = "write the IP address at which load is to reach it";
        return Some(fault("roles", "a server on another host needs an address", mend));
    }
    if host.roles.contains(&HostRole::Database) && host.roles.len() > 1 {
        let problem = "a host with the role database has no other";
        let mend = "write a [[host]] of another name for the same machine, and give each its own `cpus`";
        return Some(fault("roles", problem, mend));
    }
    let mend = "write the IP address at which servers are to reach it";
    has(HostRole::Database).then(|| fault("roles", "the host of a database needs an address", mend))
}

fn fault(key: &str, problem: &str, mend: &str) -> Fault {
    Fault { key: key.to_owned(), problem: problem.to_owned(), mend: mend.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: &str = "[[host]]\nname = \"box1\"\ntransport = \"ssh\"\n";

    #[test]
    fn a_lab_is_read() {
        let text = format!(
            "{BOX}roles = [\"server\"]\naddress = \"10.0.0.1\"\ncpus = \"0-3\"\n\n[[host]]\nname = \"me\"\ntransport = \"local\"\n"
        );
        let lab = understand(Path::new("lab.toml"), &text).expect("a lab");
        assert_eq!(lab.hosts.len(), 2);
        assert_eq!(lab.hosts[0].destination(), "box1");
        assert_eq!(lab.hosts[1].ready_timeout_s, 30.0);
    }

    #[test]
    fn a_host_may_be_typed() {
        let host = |text: &str| typed_host(text).expect("a transport");
        let typed = host("ssh:me@Box1.example.org=10.0.0.1").expect("a host");
        assert_eq!((typed.name.as_str(), typed.destination()), ("box1-example-org", "me@Box1.example.org"));
        assert_eq!((typed.transport, typed.address), (Transport::Ssh, Some([10, 0, 0, 1].into())));
        assert_eq!(host("slurm:gen2").expect("a host").address, None);
        assert!(["box1", "command:x", "local:x", "http://h:1/"].map(typed_host).iter().all(Option::is_none));
        assert!(host("ssh:box1=there").is_err_and(|problem| problem.contains("stands an IP address")));
        assert!(host("ssh:-oProxyCommand=x").is_err_and(|problem| problem.contains("ssh:-o")));
        assert!(
            ["ssh:", "ssh:me@"]
                .iter()
                .all(|text| host(text).is_err_and(|problem| problem.contains("stands a host")))
        );
    }

    #[test]
    fn what_the_documentation_shows_is_a_lab() {
        for page in ["fleet", "kubernetes", "slurm"] {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{page}.md"));
            let text = std::fs::read_to_string(&file).expect(page);
            let labs = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
            let read = labs.map(|lab| understand(&file, lab).unwrap_or_else(|error| panic!("{error}")));
            let roles: Vec<HostRole> = read.flat_map(|lab| lab.hosts).flat_map(|host| host.roles).collect();
            assert!(
                [HostRole::Server, HostRole::Generator].iter().all(|role| roles.contains(role)),
                "{page}"
            );
        }
    }

    #[test]
    fn mistakes_have_a_place_and_a_remedy() {
        for (text, wanted) in [
            (String::new(), "lab.toml:1:1: missing field `host`; add it"),
            ("host = []".to_owned(), "lab.toml:1:1: there is no host in it; write a [[host]]"),
            (
                format!("{BOX}adress = \"10.0.0.1\""),
                "lab.toml:4:1: unknown key `adress`; did you mean address?",
            ),
            (
                BOX.replace("ssh", "shh"),
                "lab.toml:3:13: unknown variant `shh`, expected one of `local`, `ssh`",
            ),
            (BOX.replace("box1", "Box 1"), "lab.toml:2:1: a name is made of"),
            (format!("{BOX}{BOX}"), "lab.toml:5:1: two hosts are called `box1`; rename one of them"),
            (format!("{BOX}command = [\"x\"]"), "lab.toml:4:1: transport `ssh` has no command; it is for"),
            (BOX.replace("ssh", "command"), "lab.toml:3:1: transport `command` needs a command"),
            (format!("{BOX}roles = [\"server\"]"), "lab.toml:4:1: a server on another host needs an address"),
            (format!("{BOX}roles = [\"database\"]"), "lab.toml:4:1: the host of a database needs an address"),
            (
                format!("{BOX}roles = [\"generator\", \"database\"]"),
                "lab.toml:4:1: a host with the role database has no other; write a [[host]] of another name",
            ),
            (format!("{BOX}cpus = \"x\""), "lab.toml:4:1: \"x\" in the CPU list"),
            (format!("{BOX}address = \"box\""), "lab.toml:4:11: invalid IP address syntax"),
            (format!("{BOX}destination = \"-oProxyCommand=x\""), "lab.toml:4:1: a destination begins with"),
            (format!("{BOX}ready_timeout_s = nan"), "lab.toml:4:1: it is no time"),
        ] {
            let error = understand(Path::new("lab.toml"), &text).expect_err(wanted).to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
