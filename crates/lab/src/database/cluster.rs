//! A private cluster: a folder, a server under a supervisor, and a way in.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_host::limits::free_port;
use postgres::{Client, Config, NoTls};

use super::{DatabaseError, Order, PostgresServer, guests, in_full};
use crate::inherited::{Inherited, Purpose};
use crate::postgresql::Programs;
use crate::scratch::{CLUSTER_PREFIX, SHARED_MEMORY, cluster_in};
use crate::secrets::Secrets;
use crate::supervisor::{Ended, Supervised, SupervisorOptions, tail_of_death};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const USER: &str = "benchmark";
/// Longest time until the cluster is made and its server answers.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// From the request to stop until it is killed: a fast shutdown writes a checkpoint.
const GRACE: Duration = Duration::from_secs(5);
pub(super) const TAIL_LINES: usize = 8;
/// Memory that must be free for a cluster that lies in it: several times what the log of writes may grow to.
const ROOM_IN_MEMORY: u64 = 4 << 30;

/// Tells the command below the password of the cluster: an environment is read by its user alone (proc_pid_environ(5)), arguments by all.
const PASSWORD: &str = "ASSAY_CLUSTER_PASSWORD";
/// Lets those in who come from other hosts and know the password (PostgreSQL 15 documentation, 21.1).
const OTHERS: &str = "host all all all scram-sha-256";
/// Makes a cluster in the folder `$1` and becomes its server, as somebody without rights where we are root (setpriv(1) of util-linux).
const MAKE_AND_SERVE: &str = r#"set -eu
folder=$1 user=$2 group=$3 initdb=$4 name=$5 rule=$6
shift 6
(umask 077 && printf %s "$ASSAY_CLUSTER_PASSWORD" >"$folder/password")
unset ASSAY_CLUSTER_PASSWORD
servant=
if [ -n "$user" ]; then
    # The group stays ours: it tells `assay clean` whose folder it is. From when the folder is the servant's, every name in it may be a
    # link that the servant made: the file comes first, and whatever follows is done with the servant's rights.
    chown -h "$user" "$folder/password"
    chown -h "$user" "$folder"
    servant="setpriv --reuid=$user --regid=$group --clear-groups --"
fi
$servant "$initdb" -D "$folder/data" --username "$name" --auth scram-sha-256 --pwfile "$folder/password" \
    --encoding UTF8 --no-locale --no-sync >/dev/null
[ -z "$rule" ] || $servant sh -c 'printf "%s\n" "$1" >>"$2"' sh "$rule" "$folder/data/pg_hba.conf"
exec $servant "$@""#;

/// What differs from PostgreSQL's defaults. Durability is given up where no answer depends on it: the cluster lives as
/// long as a run, and what is compared are web servers. (PostgreSQL 15 documentation, 20.4, 20.5, 14.5 and F.32.)
const SETTINGS: [(&str, &str); 15] = [
    // Files of the cluster, which go with its folder; segments of /dev/shm would stay behind a server that was killed.
    ("dynamic_shared_memory_type", "mmap"),
    ("shared_buffers", "256MB"),
    ("max_connections", "1024"),
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("max_wal_size", "1GB"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("jit", "off"),
    ("shared_preload_libraries", "pg_stat_statements"),
    ("pg_stat_statements.max", "1000"),
    ("pg_stat_statements.track_utility", "off"),
    ("log_min_messages", "warning"),
    ("password_encryption", "scram-sha-256"),
];

/// Where a cluster's server listens, and who gets in.
pub(super) struct Listening {
    /// The address of the server.
    pub(super) address: IpAddr,
    /// The port of the server.
    pub(super) port: u16,
    /// What everybody must know.
    pub(super) password: String,
    /// Whether those on other hosts get in who know it.
    pub(super) is_open: bool,
}

impl Listening {
    /// On this host alone, for `guests` where they look for it.
    pub(super) fn here(guests: bool) -> Result<Self, DatabaseError> {
        let address = if guests { guests::address(rand::random()) } else { ADDRESS };
        let port = if guests { guests::PORT } else { free_port(ADDRESS).map_err(prepare("no port"))? };
        Ok(Self { address, port, password: password(), is_open: false })
    }

    /// The connection URL of a database there, password included.
    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{}@{}/{database}", self.password, SocketAddr::new(self.address, self.port))
    }
}

/// A server that was started and must be stopped.
pub(super) struct Cluster {
    supervised: Supervised,
    log: PathBuf,
    listening: Listening,
    secrets: Secrets,
    /// Made and removed by the supervisor.
    folder: PathBuf,
}

impl Cluster {
    /// Begins to make a cluster in a private folder and to start its server.
    pub(super) fn start(
        programs: &Programs,
        order: &Order<'_>,
        listening: Listening,
    ) -> Result<Self, DatabaseError> {
        let folder = cluster_in(&parent());
        let servant = Servant::find()?;
        let mut options =
            SupervisorOptions::new(order.log.clone(), command(programs, &servant, &listening, &folder));
        options.cpus = order.cpus.cloned();
        options.grace = GRACE;
        options.scratch = vec![folder.clone()];
        options.side = order.side.clone();
        let password = (PASSWORD.into(), listening.password.clone().into());
        let variables = Inherited::LEAST.variables(Purpose::Serving).into_iter().chain([password]);
        let supervised = Supervised::start(&order.tools.assay, &options, Path::new("/"), variables)?;
        let (log, secrets) = (order.log.clone(), order.tools.secrets.clone());
        Ok(Self { supervised, log, listening, secrets, folder })
    }

    pub(super) fn pid(&self) -> u32 {
        self.supervised.pid()
    }

    /// What the record says of how it is set up: the same words whatever its folder is called this time.
    pub(super) fn settings(&self) -> Vec<String> {
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        let place = format!("data_directory={}/{CLUSTER_PREFIX}*/data", parent.display());
        settings().chain([place]).collect()
    }

    pub(super) fn processes(&self) -> Vec<u32> {
        self.supervised.processes()
    }
}

impl PostgresServer for Cluster {
    /// Over its Unix socket, which is in the file system, so it is reached from other network namespaces too.
    fn client(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = Config::new();
        config
            .host_path(&self.folder)
            .port(self.listening.port)
            .user(USER)
            .password(&self.listening.password)
            .dbname(database);
        config.connect(NoTls)
    }

    fn ended(&mut self, timeout: Duration) -> Option<Ended> {
        self.supervised.wait(timeout)
    }

    fn failure(&self, ended: Option<Ended>, error: &postgres::Error) -> DatabaseError {
        let how = ended.map_or_else(|| in_full(error), |ended| format!("it ended with {ended}"));
        let what = format!("PostgreSQL does not answer: {how}");
        DatabaseError::Failed { what, log: tail_of_death(&self.log, TAIL_LINES, &self.secrets) }
    }

    fn url(&self, database: &str) -> String {
        self.listening.url(database)
    }
}

/// What is changed for every run.
pub(super) fn settings() -> impl Iterator<Item = String> {
    SETTINGS.iter().map(|(name, value)| format!("{name}={value}"))
}

/// Where its folder is made: in memory where there is plenty and nobody has named another place (TMPDIR), because the kernel's
/// threads that write to a disk take time of the CPUs that servers are measured on. They took up to 41 % of it beside twenty updates.
fn parent() -> PathBuf {
    let temporary = std::env::temp_dir();
    let memory = Path::new(SHARED_MEMORY);
    let free = rustix::fs::statvfs(memory).ok().map(|of| of.f_bavail.saturating_mul(of.f_frsize));
    let is_named = std::env::var_os("TMPDIR").is_some();
    let fits = fits_in_memory(free, assay_host::memory::available());
    if fits && !is_named { memory.to_owned() } else { temporary }
}

/// Whether a cluster has room in shared memory of which so many bytes are free, on a machine with so many available.
fn fits_in_memory(free: Option<u64>, available: Option<u64>) -> bool {
    [free, available].iter().all(|bytes| bytes.is_some_and(|bytes| bytes >= ROOM_IN_MEMORY))
}

/// What makes the cluster and becomes its server: one command, so that one supervisor has the folder from before it is there until
/// it is gone.
fn command(programs: &Programs, servant: &Servant, listening: &Listening, folder: &Path) -> Vec<OsString> {
    let (user, group) = match servant {
        Servant::Us => (String::new(), String::new()),
        Servant::Other { user, group } => (user.to_string(), group.to_string()),
    };
    let mut command = ["sh", "-c", MAKE_AND_SERVE, "sh"].map(OsString::from).to_vec();
    command.extend([folder.into(), user.into(), group.into(), programs.program("initdb")]);
    command.extend([USER, if listening.is_open { OTHERS } else { "" }].map(OsString::from));
    command.extend([programs.program("postgres"), "-D".into(), folder.join("data").into()]);
    let own = [
        ("listen_addresses", listening.address.to_string()),
        ("unix_socket_directories", folder.display().to_string()),
        ("port", listening.port.to_string()),
    ];
    let given = SETTINGS.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let settings = given.chain(own);
    command.extend(settings.flat_map(|(name, value)| ["-c".into(), format!("{name}={value}").into()]));
    command
}

/// Other users of the machine must not be able to connect while a run lasts.
pub(super) fn password() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// Who runs the server.
enum Servant {
    /// Our own user.
    Us,
    /// Somebody without rights, since PostgreSQL refuses to run as root.
    Other { user: u32, group: u32 },
}

impl Servant {
    fn find() -> Result<Self, DatabaseError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Us);
        }
        let users = std::fs::read_to_string("/etc/passwd").map_err(prepare("cannot read /etc/passwd"))?;
        unprivileged(&users).map(|(user, group)| Self::Other { user, group }).ok_or(DatabaseError::NoUser)
    }
}

/// User and group of `nobody` in the text of passwd(5).
fn unprivileged(users: &str) -> Option<(u32, u32)> {
    let mut fields = users.lines().find(|line| line.starts_with("nobody:"))?.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

pub(super) fn prepare(what: &str) -> impl FnOnce(std::io::Error) -> DatabaseError {
    move |source| DatabaseError::Prepare { what: what.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::process::Command;

    use super::*;

    #[test]
    fn nobody_is_found_by_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:n:/:/bin/false\n";
        assert_eq!(unprivileged(users), Some((65534, 65533)));
        assert_eq!(unprivileged("root:x:0:0::/:/bin/sh"), None);
    }

    /// Root's program that puts a link in the place of the password when the folder is the servant's, as the servant may.
    const CHOWN: &str = r#"#!/bin/sh
PATH=${PATH#*:}
chown "$@"
for last; do :; done
[ "$(stat -c %u "${last%/password}")" = 0 ] || ln -sf "$PRECIOUS" "${last%/password}/password"
[ "$last" = "${last%/password}" ] || chown "$@"
"#;
    /// The servant's program that puts one in the place of the rules.
    const LINKING: &str = r#"#!/bin/sh
mkdir "$2" && ln -s "$PRECIOUS" "$2/pg_hba.conf"
"#;
    /// What makes a cluster of nothing but rules.
    const PLAIN: &str = r#"#!/bin/sh
mkdir "$2" && echo first >"$2/pg_hba.conf"
"#;

    /// Has the shell make a cluster in `place/cluster` by such programs; `servant` is a user and a group. Whether it did.
    fn make(place: &Path, initdb: &str, servant: [&str; 2]) -> bool {
        let [programs, folder] = ["bin", "cluster"].map(|name| place.join(name));
        for folder in [&programs, &folder] {
            std::fs::create_dir(folder).expect("a folder");
        }
        for (name, script) in [("chown", CHOWN), ("initdb", initdb)] {
            std::fs::write(programs.join(name), script).expect("a program");
        }
        for path in [place.to_owned(), programs.join("chown"), programs.join("initdb")] {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a mode");
        }
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", MAKE_AND_SERVE, "sh"]).arg(&folder).args(servant).arg(programs.join("initdb"));
        shell.args([USER, OTHERS, "true"]).envs([("PATH", &*path), (PASSWORD, "secret")]);
        shell.env("PRECIOUS", place.join("precious")).status().expect("a shell").success()
    }

    #[test]
    fn a_rule_is_added_to_those_of_the_cluster() {
        let place = tempfile::tempdir().expect("a folder");
        assert!(make(place.path(), PLAIN, ["", ""]));
        let rules = std::fs::read_to_string(place.path().join("cluster/data/pg_hba.conf")).expect("rules");
        assert_eq!(rules, format!("first\n{OTHERS}\n"));
    }

    #[test]
    fn a_servant_who_makes_links_in_its_folder_has_root_touch_nothing_else() {
        if !rustix::process::geteuid().is_root() {
            return assay_skip::skip("root", "only root has a servant");
        }
        let place = tempfile::tempdir().expect("a folder");
        let precious = place.path().join("precious");
        std::fs::write(&precious, "ours").expect("a file");
        let is_made = make(place.path(), LINKING, ["65534", "65534"]);
        let (owner, text) =
            (std::fs::metadata(&precious).expect("a file").uid(), std::fs::read_to_string(&precious));
        assert_eq!((is_made, owner, text.expect("a text").as_str()), (false, 0, "ours"));
    }

    #[test]
    fn a_cluster_lies_in_memory_only_where_both_its_folder_and_the_machine_have_room() {
        let (much, little) = (Some(ROOM_IN_MEMORY), Some(ROOM_IN_MEMORY - 1));
        assert!(fits_in_memory(much, much));
        assert!(!fits_in_memory(little, much), "a container with 64 MB of /dev/shm");
        assert!(!fits_in_memory(much, little), "/dev/shm may promise what others need");
        assert!(!fits_in_memory(None, much) && !fits_in_memory(much, None));
    }
}
