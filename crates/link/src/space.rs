//! Network namespaces made and entered (namespaces(7), network_namespaces(7), user_namespaces(7)).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::LinkError;

/// The namespaces of the two sides, perhaps one between them, and whether they needed a user namespace.
#[derive(Debug)]
pub(crate) struct Spaces {
    pub(crate) server: File,
    pub(crate) generator: File,
    pub(crate) middle: Option<File>,
    pub(crate) in_user_namespace: bool,
}

/// One side of a link, as another process can enter it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The network namespace.
    pub network: PathBuf,
    /// The user namespace that it belongs to, where it is not that of the machine.
    pub user: Option<PathBuf>,
}

/// Moves this process into a side of a link. To enter a user namespace it must have a single thread yet (setns(2)).
///
/// # Errors
/// When the namespace is gone or the kernel refuses.
pub fn enter(side: &Side) -> io::Result<()> {
    // Opened first: behind the first step it is the rights inside that count.
    let network = File::open(&side.network)?;
    let user = side.user.as_ref().map(File::open).transpose()?;
    if let Some(user) = user {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    move_into(network.as_fd())
}

/// Moves this thread into a network namespace.
pub(crate) fn move_into(network: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(network, Some(LinkNameSpaceType::Network))?)
}

impl Spaces {
    /// Makes them, as root directly, else in a user namespace in which this process, which must have a single thread, may
    /// do what root may. It is in the last one afterwards: the middle, if there is to be one, else the generator's.
    pub(crate) fn make(with_middle: bool) -> Result<Self, LinkError> {
        let in_user_namespace = match unshare(CloneFlags::CLONE_NEWNET) {
            Ok(()) => false,
            Err(nix::errno::Errno::EPERM) => {
                unshare_as_user()?;
                true
            }
            Err(error) => return Err(refused("a network namespace", &error.into())),
        };
        let here = || File::open("/proc/self/ns/net").map_err(|error| refused("a network namespace", &error));
        let another = || {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|error| refused("another network namespace", &error.into()))?;
            here()
        };
        let (server, generator) = (here()?, another()?);
        let middle = with_middle.then(another).transpose()?;
        Ok(Self { server, generator, middle, in_user_namespace })
    }

    /// How other processes reach them while this one lives.
    pub(crate) fn sides(&self) -> [Side; 2] {
        let pid = std::process::id();
        let user = self.in_user_namespace.then(|| PathBuf::from(format!("/proc/{pid}/ns/user")));
        [&self.server, &self.generator].map(|space| Side {
            network: PathBuf::from(format!("/proc/{pid}/fd/{}", space.as_raw_fd())),
            user: user.clone(),
        })
    }
}

/// A user namespace in which we are who we were, and a network namespace that belongs to it.
fn unshare_as_user() -> Result<(), LinkError> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|error| refused("a user namespace", &error.into()))?;
    // Groups could be shed to get around rights that are denied to them, so they are given up first (user_namespaces(7)).
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        let path = Path::new("/proc/self").join(file);
        std::fs::write(&path, text).map_err(|error| refused("the maps of a user namespace", &error))?;
    }
    Ok(())
}

/// What the kernel refused, with the remedy for the reasons that it is known to have.
pub(crate) fn refused(what: &str, error: &io::Error) -> LinkError {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    let remedy = match code {
        Some(Errno::NOSPC) => {
            "raise user.max_user_namespaces and user.max_net_namespaces (sysctl), or run as root"
        }
        Some(Errno::PERM | Errno::ACCESS) => {
            "run as root, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), --privileged (a container)"
        }
        Some(Errno::OPNOTSUPP | Errno::NOENT | Errno::PROTONOSUPPORT) => {
            "use a kernel with CONFIG_VETH, for a rate CONFIG_BRIDGE and CONFIG_NET_SCH_TBF, and for a loss \
             CONFIG_NF_TABLES_BRIDGE and CONFIG_NFT_NUMGEN; on some systems as packages of further modules"
        }
        Some(Errno::INVAL | Errno::NOSYS) => "use a kernel with CONFIG_NET_NS and CONFIG_USER_NS",
        _ => "use --link loopback",
    };
    LinkError::Forbidden { problem: format!("{what}: {error}"), remedy: remedy.to_owned() }
}
