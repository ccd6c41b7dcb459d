//! `assay completions` and `assay man`.

use std::path::Path;

use assay_lab::Exit;
use clap::CommandFactory;

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(shell: clap_complete::Shell, file: Option<&Path>) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut visible(), "assay", &mut text);
    write(file, text)
}

/// The commands that a person types: completions would offer those too that are hidden.
fn visible() -> clap::Command {
    let whole = Arguments::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    clap::Command::new("assay")
        .version(env!("CARGO_PKG_VERSION"))
        .args(whole.get_arguments().cloned())
        .subcommands(shown.cloned())
}

/// One page with a section for every subcommand.
pub(crate) fn man(file: Option<&Path>) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    let mut command = Arguments::command();
    command.build();
    let mut render = |command: &clap::Command, whole: bool| {
        let page = clap_mangen::Man::new(command.clone());
        if whole { page.render(&mut text) } else { subcommand_page(&page, command, &mut text) }
    };
    let pages = render(&command, true).and_then(|()| {
        command.get_subcommands().filter(|c| !c.is_hide_set()).try_for_each(|c| render(c, false))
    });
    pages.map_err(|e| Failure::Bug(e.to_string()))?;
    write(file, within_one_page(&command, text)?)
}

/// A page that refers to its own sections, and not to a page for every command, which nobody installs.
fn within_one_page(command: &clap::Command, text: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let text = String::from_utf8(text).map_err(|e| Failure::Bug(e.to_string()))?;
    let names = command.get_subcommands().map(clap::Command::get_name);
    let page = names.fold(text, |page, name| {
        let name = name.replace('-', "\\-");
        page.replace(&format!("assay\\-{name}(1)"), &format!("assay {name}"))
    });
    Ok(page.into_bytes())
}

fn subcommand_page(
    page: &clap_mangen::Man,
    command: &clap::Command,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    out.extend_from_slice(format!(".SH \"ASSAY {}\"\n", command.get_name().to_uppercase()).as_bytes());
    page.render_description_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)
}

fn write(file: Option<&Path>, text: Vec<u8>) -> Result<Exit, Failure> {
    output::result_to(file, &String::from_utf8(text).map_err(|e| Failure::Bug(e.to_string()))?)?;
    Ok(Exit::Ok)
}
