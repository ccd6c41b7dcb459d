//! What is told of files that were written to go on from: where they are, and what to type next.

use std::path::Path;

use assay_report::foreign;

/// "wrote …", and after it the commands, the last one last.
pub(super) fn told(path: &Path, files: &[&Path], commands: &[String]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let files = if files.is_empty() { String::new() } else { format!(": {}", files.join(", ")) };
    let wrote = foreign::line(&format!("wrote {}{files}", path.display()));
    let commands: String = commands.iter().map(|command| format!("  {command}\n")).collect();
    format!("{wrote}\nnext:\n{commands}")
}

/// A path as the commands of assay know it for one (by its slash), and as a shell takes it.
pub(super) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if text.contains('/') { text } else { format!("./{text}") };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_typed() {
        let word = |path: &str| word(Path::new(path));
        assert_eq!(word("mine"), "./mine");
        assert_eq!(word("/srv/mine"), "/srv/mine");
        assert_eq!(word("my server"), "'./my server'");
        assert_eq!(word("it's"), r"'./it'\''s'");
    }

    #[test]
    fn the_command_to_run_comes_last() {
        let told =
            told(Path::new("./mine"), &[Path::new("a"), Path::new("b")], &["assay run ./mine".to_owned()]);
        assert_eq!(told, "wrote ./mine: a, b\nnext:\n  assay run ./mine\n");
    }
}
