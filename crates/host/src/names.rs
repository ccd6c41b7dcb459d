//! Names of hosts, each resolved once in the life of a process.
//!
//! Whoever owns a name decides anew with every answer where it leads (DNS rebinding). What was shown to a person who agreed to send
//! load there is therefore also what is connected to, however long that takes.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Mutex, PoisonError};

/// What was answered first.
static ANSWERS: Mutex<BTreeMap<String, Vec<SocketAddr>>> = Mutex::new(BTreeMap::new());

/// The addresses of `host:port`, at least one, as they were when this process first asked. What failed is asked again.
///
/// # Errors
/// It cannot be resolved, or has no address.
pub fn resolve(authority: &str) -> io::Result<Vec<SocketAddr>> {
    remembered(&ANSWERS, authority, || Ok(authority.to_socket_addrs()?.collect()))
}

fn remembered(
    answers: &Mutex<BTreeMap<String, Vec<SocketAddr>>>,
    authority: &str,
    ask: impl FnOnce() -> io::Result<Vec<SocketAddr>>,
) -> io::Result<Vec<SocketAddr>> {
    // Held while it is asked, so that nobody else is answered otherwise.
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = answers.get(authority) {
        return Ok(known.clone());
    }
    let found = ask()?;
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
    }
    answers.insert(authority.to_owned(), found.clone());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_resolved_once() {
        let answers = Mutex::default();
        let address = |text: &str| Ok(vec![text.parse().expect("address")]);
        let ask = |text: &'static str| remembered(&answers, "a.example:80", || address(text));
        assert!(remembered(&answers, "a.example:80", || Ok(Vec::new())).is_err());
        let failed = || Err(io::ErrorKind::TimedOut.into());
        assert!(remembered(&answers, "a.example:80", failed).is_err(), "no answer is not kept");
        let first = ask("192.0.2.1:80").expect("resolved");
        assert_eq!(ask("127.0.0.1:80").expect("resolved"), first);
        let other = remembered(&answers, "b.example:80", || address("127.0.0.1:80")).expect("resolved");
        assert_ne!(other, first);
        assert!(resolve("127.0.0.1:80").is_ok_and(|found| found.len() == 1));
    }
}
