//! Commands with the ports that they listen on.

use crate::failure::Failure;

/// Each command with its port, in order; those for which none is left find theirs in $PORT.
///
/// # Errors
/// When there are more ports than commands: one of them would be dropped without a word.
pub(crate) fn with_ports<'a>(
    commands: &'a [String],
    ports: &'a [u16],
) -> Result<impl Iterator<Item = (&'a String, Option<u16>)>, Failure> {
    if ports.len() > commands.len() {
        let commands = match commands.len() {
            1 => "one command".to_owned(),
            n => format!("{n} commands"),
        };
        return Err(Failure::usage(format_args!(
            "{} ports for {commands}: give one --port for each --cmd, in order",
            ports.len()
        )));
    }
    Ok(commands.iter().zip(ports.iter().copied().map(Some).chain(std::iter::repeat(None))))
}
