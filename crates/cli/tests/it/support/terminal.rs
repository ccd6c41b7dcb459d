//! A terminal that a test can look at and type into: tmux, whose screen is text.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assay_report::text;
use assay_skip::skip;

use super::{Lab, eventually};

/// A terminal in which `assay` is running; closed when dropped.
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// A terminal of `size` (columns and rows), in which `assay ARGUMENTS` begins. When that is over, the screen says with which exit code, and how
    /// the terminal is set then. Says so where there is no tmux.
    pub(crate) fn start(lab: &Lab, size: (u32, u32), arguments: &[&str]) -> Option<Self> {
        Self::start_with(lab, size, &[], arguments)
    }

    /// One in which further variables are set.
    pub(crate) fn start_with(
        lab: &Lab,
        (columns, rows): (u32, u32),
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("tools", "tmux, which scripts/setup.sh installs, shows no terminal");
            return None;
        }
        let line: Vec<String> = std::iter::once(env!("CARGO_BIN_EXE_assay"))
            .chain(arguments.iter().copied())
            .map(String::from)
            .collect();
        let set = "stty -a | tr ' ;' '\\n\\n' | grep -x -e -icanon -e icanon -e -echo -e echo | tr '\\n' ' '";
        // A key that ends what runs in the foreground is not meant for the shell.
        let script =
            format!("trap : INT; {}; echo \"ended with $?\"; {set}; exec sleep 1000", text::shell(&line));
        let terminal = Self { socket: lab.path("tmux") };
        let pattern = lab.command(&["--version"]);
        let mut tmux = terminal.tmux(&["-f", "/dev/null", "-u", "new-session", "-d"]);
        tmux.args(["-x", &columns.to_string(), "-y", &rows.to_string(), "sh", "-c", &script]);
        tmux.current_dir(lab.path(""));
        for (name, value) in pattern.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        tmux.envs(variables.iter().copied());
        done(&mut tmux);
        Some(terminal)
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8(done(&mut self.tmux(&["capture-pane", "-p"])).stdout).expect("UTF-8")
    }

    /// What is on the screen, with its colours.
    pub(crate) fn coloured(&self) -> String {
        String::from_utf8(done(&mut self.tmux(&["capture-pane", "-p", "-e"])).stdout).expect("UTF-8")
    }

    /// What was on the screen from the beginning.
    pub(crate) fn all(&self) -> String {
        String::from_utf8(done(&mut self.tmux(&["capture-pane", "-p", "-S", "-"])).stdout).expect("UTF-8")
    }

    /// Waits until these words are on the screen, and returns it.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        let mut last = String::new();
        eventually(&format!("`{words}` on the screen"), || {
            last = self.screen();
            last.contains(words)
        });
        last
    }

    /// Waits for the end; returns all that was said, and how the terminal is set.
    pub(crate) fn end(&self) -> String {
        let set = |screen: &str| screen.contains("icanon") && screen.contains("echo");
        eventually("it ends", || {
            let all = self.all();
            all.contains("ended with ") && all.split("ended with ").nth(1).is_some_and(set)
        });
        self.all()
    }

    /// Presses a key, by tmux's name of it.
    pub(crate) fn press(&self, key: &str) {
        done(&mut self.tmux(&["send-keys", key]));
    }

    pub(crate) fn resize(&self, columns: u32, rows: u32) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        done(&mut self.tmux(&["resize-window", "-x", &columns, "-y", &rows]));
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(arguments).env_remove("TMUX");
        tmux
    }
}

impl Drop for Terminal {
    /// Ends the terminal and its shell, and waits for both: tmux answers before it has ended, and where hanging up is ignored, as below
    /// nohup(1), the end of the terminal does not end the shell.
    fn drop(&mut self) {
        let told = self.tmux(&["display-message", "-p", "#{pid} #{pane_pid}"]).output();
        let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).unwrap_or_default();
        let _ = self.tmux(&["kill-server"]).output();
        let processes: Vec<&str> = told.split_whitespace().collect();
        if let [_, shell] = processes[..] {
            let _ = Command::new("kill").args(["-KILL", shell]).output();
        }
        if !std::thread::panicking() {
            eventually("the terminal and its shell end", || processes.iter().all(|pid| has_ended(pid)));
        }
    }
}

/// Whether a process is no more, or a zombie: a test that starts a supervisor makes this process inherit orphans, and it asks for none.
fn has_ended(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z'))
}

fn done(command: &mut Command) -> Output {
    let output = command.output().expect("tmux");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
