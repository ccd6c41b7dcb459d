//! Setting what can be set, one kernel file at a time, with its way back.

use std::io;
use std::path::Path;

use assay_model::doctor::{Diagnosis, KernelSetting};

/// All settings that a diagnosis would change, in its order.
pub fn settings(diagnosis: &Diagnosis) -> Vec<KernelSetting> {
    diagnosis.findings.iter().flat_map(|finding| finding.settings.clone()).collect()
}

/// Writes one setting and reads it back.
///
/// # Errors
/// When the file cannot be written, or the kernel keeps another value.
pub fn apply(setting: &KernelSetting) -> io::Result<()> {
    write_below(Path::new("/"), setting)
}

fn write_below(root: &Path, setting: &KernelSetting) -> io::Result<()> {
    let path = root.join(setting.path.trim_start_matches('/'));
    std::fs::write(&path, &setting.to)?;
    let now = std::fs::read_to_string(&path)?;
    if holds(&now, &setting.to) { Ok(()) } else { Err(io::Error::other(format!("it holds {}", now.trim()))) }
}

/// Whether a file that was read says `value`: alone, spaced otherwise, or as the word in brackets.
fn holds(text: &str, value: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(text) == words(value) || text.contains(&format!("[{value}]"))
}

/// The shell command that writes `to` of a setting as root.
pub fn command(setting: &KernelSetting) -> String {
    shell(&setting.path, &setting.to)
}

/// The shell command that takes it back.
pub fn undo(setting: &KernelSetting) -> String {
    shell(&setting.path, &setting.from)
}

fn shell(path: &str, value: &str) -> String {
    // Values are the kernel's own words and numbers; a space needs quotes, nothing else occurs.
    let quoted = if value.contains(' ') { format!("'{value}'") } else { value.to_owned() };
    format!("echo {quoted} | sudo tee {path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> KernelSetting {
        let (from, to) = ("32768 60999".to_owned(), "1024 65535".to_owned());
        KernelSetting { path: "/proc/sys/net/ipv4/ip_local_port_range".to_owned(), from, to }
    }

    #[test]
    fn a_setting_is_written_and_checked() {
        let root = tempfile::tempdir().expect("a folder");
        assert!(write_below(root.path(), &setting()).is_err(), "the file is not there");
        let file = root.path().join("proc/sys/net/ipv4/ip_local_port_range");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(&file, "32768\t60999\n").expect("written");
        write_below(root.path(), &setting()).expect("set");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "1024 65535");
    }

    #[test]
    fn what_the_kernel_shows_is_understood() {
        assert!(holds("1024\t65535\n", "1024 65535"));
        assert!(
            holds("always [madvise] never\n", "madvise") && !holds("[always] madvise never\n", "madvise")
        );
        assert!(!holds("10\n", "1"));
    }

    #[test]
    fn commands_go_both_ways() {
        assert_eq!(
            command(&setting()),
            "echo '1024 65535' | sudo tee /proc/sys/net/ipv4/ip_local_port_range"
        );
        assert_eq!(undo(&setting()), "echo '32768 60999' | sudo tee /proc/sys/net/ipv4/ip_local_port_range");
    }
}
