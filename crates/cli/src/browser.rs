//! The desktop's browser.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Hands a page to the desktop's browser, which goes on by itself. Every user of the machine can read the page's name meanwhile.
pub(crate) fn open(page: &Path) -> Result<(), Failure> {
    let here = page.display();
    let opened = Command::new("xdg-open")
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match opened {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::Machine(format!("xdg-open ended with {status}; open {here} in a browser yourself")))
        }
        Err(error) => Err(Failure::Machine(format!(
            "cannot start xdg-open ({error}): open {here} in a browser yourself, or apt install xdg-utils"
        ))),
    }
}
