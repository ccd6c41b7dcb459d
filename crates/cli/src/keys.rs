//! Single keys from the terminal of standard input, which is given back as it was: at the end, on a panic, and to whoever has the
//! foreground meanwhile.

use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use assay_host::process::group_of;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// How the terminal was before.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static WATCH_OVER_PANICS: Once = Once::new();

const ESCAPE: u8 = 0x1b;

/// A terminal that hands over each key at once and shows none; given back when dropped.
pub(crate) struct Keys(());

/// What came while somebody waited.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Keys were pressed.
    Keys(String),
    /// Nothing, for as long as was waited.
    Nothing,
    /// The other end of the pipe is closed.
    End,
}

impl Keys {
    /// Takes the terminal of standard input; `None` where it is none, or somebody else's at the moment.
    pub(crate) fn take() -> Option<Self> {
        let input = io::stdin();
        if !input.is_terminal() || !is_foreground() {
            return None;
        }
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(tcgetattr(&input).ok()?);
        WATCH_OVER_PANICS.call_once(|| {
            let then = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                then(panic);
            }));
        });
        let keys = Self(());
        keys.listen();
        Some(keys)
    }

    /// Has keys handed over at once, and not shown. Signals of keys, such as Ctrl-C's, stay. A shell that had the terminal in between
    /// has set it otherwise.
    fn listen(&self) {
        let Ok(mut mode) = tcgetattr(io::stdin()) else { return };
        let lines = LocalModes::ICANON | LocalModes::ECHO;
        if mode.local_modes.intersects(lines) {
            mode.local_modes.remove(lines);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &mode);
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        give_back();
    }
}

/// Waits for a key, for the end of `pipe`, or for so long. Where the terminal is somebody else's, no key is waited for.
pub(crate) fn next(keys: Option<&Keys>, pipe: &OwnedFd, wait: Duration) -> Input {
    let input = io::stdin();
    let keys = keys.filter(|_| is_foreground());
    if let Some(keys) = keys {
        keys.listen();
    }
    let mut awaited = vec![PollFd::new(pipe, PollFlags::IN)];
    awaited.extend(keys.map(|_| PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)));
    let wait = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    };
    if poll(&mut awaited, Some(&wait)).is_err() {
        return Input::Nothing;
    }
    let happened: Vec<bool> = awaited.iter().map(|of| !of.revents().is_empty()).collect();
    match happened.as_slice() {
        [true, ..] => Input::End,
        [_, true] => read(),
        _ => Input::Nothing,
    }
}

/// What was typed; a key that sends an escape sequence, as arrows do, is none of ours.
fn read() -> Input {
    let mut typed = [0; 16];
    match rustix::io::read(io::stdin(), &mut typed[..]) {
        // The terminal is gone, and must not be asked again at once.
        Ok(0) | Err(_) => {
            std::thread::sleep(Duration::from_millis(100));
            Input::Nothing
        }
        Ok(_) if typed[0] == ESCAPE => Input::Nothing,
        Ok(count) => Input::Keys(typed[..count].iter().copied().map(char::from).collect()),
    }
}

/// Whether the terminal is ours to read: who is in the background would be stopped for it (termios(3), SIGTTIN).
fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).map_or(true, |group| group_of(None) == Some(group))
}

/// Sets the terminal as it was. Not from the background, where the shell has done so.
fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before.filter(|_| is_foreground()) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}
