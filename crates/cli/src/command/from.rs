//! The hosts of a lab from which load is to come.

use std::path::Path;

use assay_model::lab::{HostRole, Lab, LabHost, Transport};

use crate::failure::Failure;

/// The hosts of the lab in `file` from which load is to come: those that are named, else those whose role is generator. None where that
/// is this host alone, whose generator needs no agent.
pub(crate) fn generators(file: &Path, lab: &Lab, named: &[String]) -> Result<Vec<LabHost>, Failure> {
    let chosen = choose(lab, named).map_err(|problem| in_file(file, &problem))?;
    let is_this_one = matches!(&chosen[..], [only] if only.transport == Transport::Local);
    Ok(if is_this_one { Vec::new() } else { chosen })
}

/// What is wrong with a lab's hosts.
pub(crate) fn in_file(file: &Path, problem: &str) -> Failure {
    Failure::usage(format_args!("{}: {problem}", file.display()))
}

/// The host of that name.
pub(crate) fn host<'l>(lab: &'l Lab, name: &str) -> Result<&'l LabHost, String> {
    let found = lab.hosts.iter().find(|host| host.name == name);
    found.ok_or_else(|| format!("there is no host `{name}` in it; known are {}", names(lab)))
}

/// The names of all hosts.
pub(crate) fn names(lab: &Lab) -> String {
    lab.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn choose(lab: &Lab, named: &[String]) -> Result<Vec<LabHost>, String> {
    if named.is_empty() {
        let generates = |host: &&LabHost| host.roles.contains(&HostRole::Generator);
        return Ok(lab.hosts.iter().filter(generates).cloned().collect());
    }
    let is_twice = |(index, name): &(usize, &String)| named[..*index].contains(name);
    if let Some((_, name)) = named.iter().enumerate().find(is_twice) {
        return Err(format!("{name} is named twice; each host has one generator with all of its CPUs"));
    }
    named.iter().map(|name| host(lab, name).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(hosts: &[(&str, &str, &str)]) -> Lab {
        let host = |(name, transport, role): &(&str, &str, &str)| {
            format!("{{\"name\": \"{name}\", \"transport\": \"{transport}\", \"roles\": [{role}]}}")
        };
        let hosts: Vec<String> = hosts.iter().map(host).collect();
        serde_json::from_str(&format!("{{\"host\": [{}]}}", hosts.join(", "))).expect("a lab")
    }

    #[test]
    fn load_comes_from_those_that_are_named_or_have_the_role() {
        let role = "\"generator\"";
        let two = lab(&[("here", "local", role), ("box1", "ssh", ""), ("box2", "ssh", role)]);
        let one = lab(&[("here", "local", role), ("box1", "ssh", "\"server\"")]);
        let names = |lab: &Lab, named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            let found = generators(Path::new("lab.toml"), lab, &named).map_err(|failure| failure.to_string());
            found.map(|hosts| hosts.into_iter().map(|host| host.name).collect::<Vec<_>>().join(","))
        };
        assert_eq!(names(&two, &[]).as_deref(), Ok("here,box2"));
        assert_eq!(names(&two, &["box2", "box1"]).as_deref(), Ok("box2,box1"));
        assert_eq!(names(&one, &[]).as_deref(), Ok(""), "this host needs no agent");
        assert_eq!(names(&two, &["here"]).as_deref(), Ok(""));
        let unknown = "lab.toml: there is no host `box3` in it; known are here, box1, box2";
        assert_eq!(names(&two, &["box3"]), Err(unknown.to_owned()));
        assert!(names(&two, &["box1", "box1"]).is_err_and(|problem| problem.contains("box1 is named twice")));
    }
}
