//! How a process on another host is started: the command of each transport, and what its complaints mean.

use std::ffi::OsString;
use std::path::Path;

use assay_model::lab::{LabHost, Transport};

/// What the shell there says before the agent speaks: the program is there, or it is to be sent.
pub(super) const HAVE: &str = "assay: have";
/// See [`HAVE`].
pub(super) const NEED: &str = "assay: need";

/// ssh asks nobody anything: no password, and no unknown host key. It notices within a minute that the other side is gone.
const SSH: &str =
    "-T -a -x -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=4";
/// One task on one node, whose output nobody labels or holds back until a line is whole: frames have no lines.
const SRUN: &str = "--quiet --unbuffered --job-name=assay --nodes=1 --ntasks=1";

/// A command that starts an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Program and arguments.
    pub(super) command: Vec<OsString>,
    /// Whether a shell there comes first, which says [`HAVE`] or [`NEED`].
    pub(super) is_through_shell: bool,
}

/// A program that travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Traveller {
    /// SHA-256 of it.
    pub(super) sha256: String,
    /// The program's length.
    pub(super) bytes: u64,
}

/// Whether our own program has to be sent to a host, unless it is there.
pub(super) fn needs_program(host: &LabHost) -> bool {
    host.transport.has_destination() && host.program.is_none()
}

/// How the agent of `host` is started; `traveller` is our own program where that has to be sent.
pub(super) fn way(host: &LabHost, own: &Path, traveller: Option<&Traveller>) -> Way {
    let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
    let arguments = || host.arguments.iter().map(OsString::from).collect::<Vec<_>>();
    let named = || host.program.as_ref().map_or_else(|| own.into(), OsString::from);
    let script = script(host, traveller);
    let command = match host.transport {
        Transport::Local => vec![own.into(), "agent".into()],
        Transport::Command => {
            let command = host.command.iter().map(OsString::from);
            command.chain([named(), "agent".into()]).collect()
        }
        // ssh joins its words with spaces for the shell there.
        Transport::Ssh => {
            let shell = format!("sh -c {}", quoted(&script)).into();
            let behind = ["--".into(), host.destination().into(), shell];
            [vec!["ssh".into()], words(SSH), arguments(), behind.into()].concat()
        }
        Transport::Slurm => {
            let node = format!("--nodelist={}", host.destination()).into();
            [vec!["srun".into()], words(SRUN), vec![node], arguments(), shell(&script)].concat()
        }
        Transport::Kubernetes => {
            let behind = [host.destination().into(), "--".into()];
            [words("kubectl exec -i"), arguments(), behind.into(), shell(&script)].concat()
        }
    };
    Way { command, is_through_shell: host.transport.has_destination() }
}

fn shell(script: &str) -> Vec<OsString> {
    vec!["sh".into(), "-c".into(), script.into()]
}

/// What the shell there does (POSIX.1-2024, Shell Command Language): it takes the program from standard input unless it has it, and
/// becomes the agent. It keeps the program by its content, and removes what was not used for a week.
fn script(host: &LabHost, traveller: Option<&Traveller>) -> String {
    let Some(Traveller { sha256, bytes }) = traveller else {
        let program = host.program.as_deref().unwrap_or("assay");
        return format!("echo {}; exec {} agent", quoted(HAVE), quoted(program));
    };
    format!(
        r#"umask 077; d=${{XDG_CACHE_HOME:-$HOME/.cache}}/assay/agent; p=$d/{sha256}
if [ -x "$p" ]; then touch "$p"; echo "{HAVE}"; else
mkdir -p "$d" && t=$(mktemp "$d/coming-XXXXXX") || exit 1
echo "{NEED}"; head -c {bytes} >"$t"
if [ "$(wc -c <"$t")" -eq {bytes} ] && chmod 700 "$t" && mv "$t" "$p"; then :; else rm -f "$t"; exit 1; fi
find "$d" -type f -mtime +7 -exec rm -f {{}} +
fi
exec "$p" agent"#
    )
}

/// One word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What to do about an agent that did not come, going by what was said instead.
pub(super) fn remedy(host: &LabHost, said: &str) -> String {
    let destination = host.destination();
    let known: [(&[&str], String); 7] = [
        (
            &["Permission denied", "Too many authentication failures"],
            format!(
                "assay answers no password: give ssh a key that it may use alone (ssh-agent), until `ssh -o BatchMode=yes \
                 {destination} true` works"
            ),
        ),
        (
            &["Host key verification failed"],
            format!("assay trusts no key by itself: run `ssh {destination}` once and compare the key"),
        ),
        (&["Could not resolve hostname", "Name or service not known"], "mend its destination".to_owned()),
        (
            &["Connection refused", "timed out", "No route to host", "unreachable"],
            "see whether it is up and lets you in".to_owned(),
        ),
        (
            &["Exec format error", "GLIBC_", "cannot execute"],
            "this program does not run there: put an assay for that machine there and name it as `program`"
                .to_owned(),
        ),
        (
            &["not found", "No such file"],
            "put an assay of this version there, or mend `program` or `command`".to_owned(),
        ),
        (&["No space left"], "make room there".to_owned()),
    ];
    let meant = known.into_iter().find(|(words, _)| words.iter().any(|word| said.contains(word)));
    meant.map_or_else(
        || format!("try its transport ({}) by hand", host.transport.name()),
        |(_, remedy)| remedy,
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn host(transport: &str, rest: &str) -> LabHost {
        let text = format!("name = \"box1\"\ntransport = \"{transport}\"\n{rest}");
        toml::from_str(&text).expect("a host")
    }

    fn command(host: &LabHost) -> String {
        let way = way(host, Path::new("/bin/assay"), None);
        let words: Vec<_> = way.command.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn each_transport_has_its_command() {
        let there = "program = \"/opt/an assay\"\n";
        for (transport, rest, wanted) in [
            ("local", "", "/bin/assay agent".to_owned()),
            (
                "command",
                "command = [\"nsenter\", \"--net=x\"]",
                "nsenter --net=x /bin/assay agent".to_owned(),
            ),
            (
                "ssh",
                "program = \"/opt/an assay\"\ndestination = \"me@box\"\narguments = [\"-p\", \"22\"]",
                format!(
                    "ssh {SSH} -p 22 -- me@box sh -c {}",
                    quoted("echo 'assay: have'; exec '/opt/an assay' agent")
                ),
            ),
            (
                "slurm",
                there,
                format!("srun {SRUN} --nodelist=box1 sh -c echo 'assay: have'; exec '/opt/an assay' agent"),
            ),
            (
                "kubernetes",
                there,
                "kubectl exec -i box1 -- sh -c echo 'assay: have'; exec '/opt/an assay' agent".to_owned(),
            ),
        ] {
            assert_eq!(command(&host(transport, rest)), wanted, "{transport}");
        }
    }

    /// The shell's part with a real shell, and a program that is a script.
    #[test]
    fn the_program_travels_once_and_a_part_of_it_is_never_run() {
        let folder = tempfile::tempdir().expect("folder");
        let program = "#!/bin/sh\necho \"it runs: $1\"\ncat\n";
        let traveller = Traveller { sha256: "abc".to_owned(), bytes: program.len() as u64 };
        let script = script(&host("ssh", ""), Some(&traveller));
        let run = |input: &str| {
            let mut shell = Command::new("sh")
                .args(["-c", &script])
                .env("XDG_CACHE_HOME", folder.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("sh");
            let written = shell.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
            assert!(written.is_some());
            let output = shell.wait_with_output().expect("ended");
            (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
        };
        assert_eq!(run(&program[..9]), (format!("{NEED}\n"), false));
        let cache = folder.path().join("assay/agent");
        assert_eq!(std::fs::read_dir(&cache).expect("cache").count(), 0, "a part is removed");
        assert_eq!(run(&format!("{program}frames")), (format!("{NEED}\nit runs: agent\nframes"), true));
        assert_eq!(run("frames"), (format!("{HAVE}\nit runs: agent\nframes"), true));
    }

    #[test]
    fn complaints_have_remedies() {
        let host = host("ssh", "");
        for (said, remedied) in [
            ("me@box1: Permission denied (publickey,password).", "no password"),
            ("Host key verification failed.", "compare the key"),
            ("ssh: Could not resolve hostname box1: Name or service not known", "mend its destination"),
            ("ssh: connect to host box1 port 22: Connection refused", "is up"),
            ("sh: 1: exec: assay: not found", "put an assay"),
            ("something else", "try its transport (ssh) by hand"),
        ] {
            assert!(remedy(&host, said).contains(remedied), "{said}");
        }
    }
}
