//! What must not be repeated by anything that is printed or written.

use std::sync::LazyLock;

use assay_lab::secrets::Secrets;

static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
    // Of the command line it is the passwords of URLs that are secret; no word there bears a telling name.
    let words = std::env::args_os().map(|word| ("command line".into(), word));
    Secrets::of(std::env::vars_os().chain(words))
});

/// The secrets of whoever started this process.
pub(crate) fn secrets() -> &'static Secrets {
    &SECRETS
}
