//! `assay serve`: the reference server.

use std::path::Path;

use assay_host::cpuset;
use assay_lab::Exit;
use assay_serve::{Config, Summary};

use super::sweep;
use crate::args::{EngineName, ServeArguments};
use crate::failure::Failure;
use crate::{output, signals};

pub(crate) fn run(arguments: &ServeArguments) -> Result<Exit, Failure> {
    let listening = &arguments.listening;
    let address = listening.address();
    let config = Config {
        address,
        port: listening.port,
        shares_port: arguments.share_port,
        cpus: listening.cpus.clone().unwrap_or_else(cpuset::allowed),
        stack: listening.stack(EngineName::Auto)?,
        tls: listening.tls.server(address)?,
        root: arguments.root.clone(),
        hello: arguments.hello,
        dot_files: arguments.dot_files,
        requests: arguments.request_count.clone(),
        limits: arguments.limits.limits(),
    };
    if let Some(root) = &config.root {
        warn_of_hidden(root);
    }
    sweep::behind_stack(&config.stack)?;
    let stop = signals::flag_then_end()?;
    let summary = assay_serve::run(&config, &stop, |at| {
        let (scheme, stack) = (listening.tls.scheme(), config.stack.name());
        output::note(format_args!("serving {scheme}://{at} on CPUs {} with {stack}", config.cpus))
    })?;
    tell(&summary);
    Ok(Exit::Ok)
}

/// Tells which files cannot be asked for, before somebody wonders about the answers.
fn warn_of_hidden(root: &Path) {
    let hidden = assay_serve::hidden_by_routes(root);
    if !hidden.is_empty() {
        output::warning(format_args!(
            "{} in {}: not served under these names, which are paths of the server's own; rename them",
            hidden.join(", "),
            root.display()
        ));
    }
}

/// What was served, and what it took.
fn tell(summary: &Summary) {
    output::note(format_args!("served {} requests, refused {}", summary.requests(), summary.refused()));
    if summary.messages() > 0 {
        output::note(format_args!("gave back {} messages of WebSockets", summary.messages()));
    }
    output::note(format_args!(
        "accepted {} connections, at most {} at a time; received {} bytes, sent {}",
        summary.accepted(),
        summary.most_connections(),
        summary.received_bytes(),
        summary.sent_bytes()
    ));
    if let Some(tls) = summary.tls() {
        output::note(format_args!(
            "secured by {} full handshakes and {} resumed ones; {} failed",
            tls.full, tls.resumed, tls.failed
        ));
    }
    if summary.accept_errors() > 0 {
        output::warning(format_args!(
            "{} times no connection could be accepted for want of descriptors or memory; raise the hard limit on \
             open files (ulimit -Hn), or lower --connections",
            summary.accept_errors()
        ));
    }
    if let (Some(memory), Some(each)) = (summary.memory, summary.bytes_per_connection()) {
        output::note(format_args!(
            "memory {} KiB at the start, {} KiB at its peak: {each} bytes for each of {} connections",
            memory.start_bytes / 1024,
            memory.peak_bytes / 1024,
            summary.most_connections()
        ));
    }
}
