//! Connections to servers of the user's, which may be far away, or take a connection and never say a word.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

use crate::stop::Stop;

/// Longest wait until a server has let us in.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may acknowledge nothing before it counts as gone (tcp(7), `TCP_USER_TIMEOUT`).
const SILENCE: Duration = Duration::from_secs(30);
/// How often the run looks whether somebody wants to stop.
const TICK: Duration = Duration::from_millis(50);

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Unreached {
    /// The server, or the way to it, refused.
    Refused(postgres::Error),
    /// Nothing came for so long.
    Silent(Duration),
    /// A person ended the waiting.
    Stopped,
}

/// Connects to `url`, as long as `patience` lasts and nobody asks to stop. The client cannot be interrupted while it waits for a
/// server's first words, so a thread waits for these, and is left alone if they do not come.
pub(super) fn connect(url: &str, patience: Duration, stop: &Stop) -> Result<Client, Unreached> {
    let mut config: Config = url.parse().map_err(Unreached::Refused)?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(patience);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
    }
    let (told, connected) = channel();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = told.send(config.connect(NoTls));
    });
    let deadline = Instant::now() + patience;
    loop {
        match connected.recv_timeout(TICK.min(deadline.saturating_duration_since(Instant::now()))) {
            Ok(connected) => return connected.map_err(Unreached::Refused),
            Err(_) if stop.is_requested() => return Err(Unreached::Stopped),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(_) => return Err(Unreached::Silent(patience)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that takes connections and says nothing.
    fn silent() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("postgres://somebody@{}/theirs", listener.local_addr().expect("an address"));
        (listener, url)
    }

    #[test]
    fn nobody_waits_without_end_for_a_server_that_says_nothing() {
        let (_listener, url) = silent();
        let patience = Duration::from_millis(100);
        let unreached = connect(&url, patience, &Stop::new()).err();
        assert!(matches!(unreached, Some(Unreached::Silent(of)) if of == patience), "{unreached:?}");
    }

    #[test]
    fn a_person_can_end_the_waiting() {
        let (_listener, url) = silent();
        let stop = Stop::new();
        stop.request();
        let unreached = connect(&url, PATIENCE, &stop).err();
        assert!(matches!(unreached, Some(Unreached::Stopped)), "{unreached:?}");
    }

    #[test]
    fn a_refusal_is_told_as_one() {
        let (listener, url) = silent();
        drop(listener);
        let unreached = connect(&url, PATIENCE, &Stop::new()).err();
        assert!(matches!(unreached, Some(Unreached::Refused(_))), "{unreached:?}");
    }
}
