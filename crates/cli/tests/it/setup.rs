//! What `scripts/setup.sh` may do to the machine: install what is missing, and change nothing that was there.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::listing;

/// Programs of every system that the script needs.
const TOOLS: [&str; 16] = [
    "cat", "chmod", "cut", "dirname", "env", "grep", "head", "id", "ln", "rm", "sed", "sh", "sort", "tee",
    "true", "uname",
];
/// Runs what it is asked to as whoever asks: nobody's real machine may be reached from here.
const SUDO: &str = "shift\nexec \"$@\"";
/// Makes a service of every package that is installed, as Debian's packages of servers do; but first asks whether one may be started.
const APT_GET: &str = r#"for package in "$@"; do :; done
[ "$package" != update ] || exit 0
answer=0
sh "$ASSAY_SETUP_MACHINE/usr/sbin/policy-rc.d" || answer=$?
echo "$package $answer" >>"$ASSAY_SETUP_MACHINE/installed"
[ "$package" != "${FATAL:-}" ] || kill -KILL 0
ln -s ../init.d/x "$ASSAY_SETUP_MACHINE/etc/rc3.d/S01$package"
echo "$package.service enabled enabled" >>"$ASSAY_SETUP_MACHINE/units""#;
const SYSTEMCTL: &str = r#"case $1 in
list-unit-files) cat "$ASSAY_SETUP_MACHINE/units" ;;
disable) sed -i "/^$2 /d" "$ASSAY_SETUP_MACHINE/units" ;;
*) exit 1 ;;
esac"#;
const UPDATE_RC_D: &str = r#"[ "$2" = disable ] && rm "$ASSAY_SETUP_MACHINE"/etc/rc3.d/S??"$1""#;

/// A machine on which nothing is installed but a compiler, a Go, and services of the user's.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn with_services(services: &[&str]) -> Self {
        let machine = Self { folder: tempfile::tempdir().expect("folder") };
        for folder in ["bin", "usr/sbin", "etc/rc3.d"] {
            std::fs::create_dir_all(machine.path(folder)).expect("folder");
        }
        for tool in TOOLS {
            symlink(on_the_path(tool), machine.path("bin").join(tool)).expect("a link");
        }
        for (name, script) in [
            ("cc", ""),
            ("cargo", ""),
            ("rustc", "echo 'rustc 1.99.0 (0123abcd 2026-11-27)'"),
            ("go", "echo go version go1.99"),
            ("sudo", SUDO),
            ("apt-get", APT_GET),
            ("update-rc.d", UPDATE_RC_D),
            ("systemctl", SYSTEMCTL),
        ] {
            machine.program(name, script);
        }
        let units: String = services.iter().map(|name| format!("{name}.service enabled enabled\n")).collect();
        std::fs::write(machine.path("units"), units).expect("units");
        for name in services {
            symlink("../init.d/x", machine.path("etc/rc3.d").join(format!("S02{name}"))).expect("a link");
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let file = self.path("bin").join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Packages that were installed.
    fn installed(&self) -> Vec<String> {
        self.read("installed").lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
    }

    /// What starts at boot: units, then init scripts.
    fn starts_at_boot(&self) -> (Vec<String>, Vec<String>) {
        let units = self.read("units");
        let units = units.lines().filter_map(|line| Some(line.split_once(".service")?.0.to_owned()));
        (units.collect(), listing(&self.path("etc/rc3.d")).iter().map(|link| link[3..].to_owned()).collect())
    }

    fn policy(&self) -> PathBuf {
        self.path("usr/sbin/policy-rc.d")
    }

    /// `scripts/setup.sh GOAL`, in a process group of its own, with nothing on its PATH but what is here.
    fn set_up(&self, goal: &str) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup.sh");
        let mut command = Command::new("/bin/sh");
        command.arg(script).arg(goal).env_clear().process_group(0);
        command.env("PATH", self.path("bin")).env("HOME", self.path("home"));
        command.env("ASSAY_SETUP_MACHINE", self.folder.path());
        command
    }
}

fn on_the_path(tool: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found =
        std::env::split_paths(&path).map(|folder| folder.join(tool)).filter(|file| file.is_file());
    found.next().unwrap_or_else(|| panic!("no {tool} on the PATH"))
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn services_of_the_users_own_start_at_boot_as_before_and_new_ones_do_not() {
    let own = ["munge", "php8.2-fpm", "slurmd"];
    for goal in ["test", "all"] {
        let machine = Machine::with_services(&own);
        // A compute node, whose controller is elsewhere.
        machine.program("munged", "");
        machine.program("slurmd", "");
        succeeded(&machine.set_up(goal).output().expect("started"));
        let installed = machine.installed();
        let new = if goal == "all" {
            ["caddy", "haproxy", "nginx"]
        } else {
            ["openssh-server", "slurmctld", "tmux"]
        };
        assert!(new.iter().all(|name| installed.iter().any(|of| of == name)), "{installed:?}");
        assert!(!installed.iter().any(|name| ["munge", "slurmd"].contains(&name.as_str())), "{installed:?}");
        let own = own.map(str::to_owned).to_vec();
        assert_eq!(machine.starts_at_boot(), (own.clone(), own), "{goal}");
    }
}

#[test]
fn a_machine_without_systemd_is_left_with_no_new_service_either() {
    let machine = Machine::with_services(&["cron"]);
    std::fs::remove_file(machine.path("bin/systemctl")).expect("removed");
    succeeded(&machine.set_up("all").output().expect("started"));
    assert!(machine.installed().iter().any(|name| name == "haproxy"));
    assert_eq!(machine.starts_at_boot().1, ["cron"]);
}

#[test]
fn what_only_tests_need_is_installed_for_tests_alone() {
    let machine = Machine::with_services(&[]);
    succeeded(&machine.set_up("all").output().expect("started"));
    let installed = machine.installed();
    for name in ["chromium", "tmux", "openssh-server", "munge", "slurmctld", "slurmd", "nghttp2-server"] {
        assert!(!installed.iter().any(|of| of == name), "{name} in {installed:?}");
    }
    assert!(
        ["wrk", "nghttp2-client", "nginx"].iter().all(|name| installed.iter().any(|of| of == name)),
        "{installed:?}"
    );
}

#[test]
fn the_policy_against_starts_holds_only_as_long_as_the_setup_lives() {
    let machine = Machine::with_services(&[]);
    let killed = machine.set_up("all").env("FATAL", "caddy").output().expect("started");
    assert!(!killed.status.success() && machine.policy().exists());
    let answers = |from: usize| {
        let answers = machine.read("installed");
        answers.lines().skip(from).map(|line| line.rsplit(' ').next().map(str::to_owned)).collect::<Vec<_>>()
    };
    let before = answers(0);
    assert!(!before.is_empty() && before.iter().all(|answer| answer.as_deref() == Some("101")), "{before:?}");
    let answer = Command::new(machine.policy()).status().expect("a program").code();
    assert_eq!(answer, Some(0), "others may start services again");
    succeeded(&machine.set_up("all").output().expect("started"));
    let after = answers(before.len());
    assert!(!after.is_empty() && after.iter().all(|answer| answer.as_deref() == Some("101")), "{after:?}");
    assert!(!machine.policy().exists(), "it was taken for ours");
}

#[test]
fn a_policy_of_the_users_own_is_kept() {
    let machine = Machine::with_services(&[]);
    let own = "#!/bin/sh\nexit 104\n";
    std::fs::write(machine.policy(), own).expect("written");
    succeeded(&machine.set_up("all").output().expect("started"));
    assert!(machine.read("installed").lines().all(|line| line.ends_with(" 104")));
    assert_eq!(machine.read("usr/sbin/policy-rc.d"), own);
}

#[test]
fn a_rust_that_is_too_old_is_told_before_anything_is_installed() {
    let machine = Machine::with_services(&[]);
    machine.program("rustc", "echo 'rustc 1.63.0 (4b91a6ea7 2022-08-08)'");
    let refused = machine.set_up("showdown").output().expect("started");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let minimum = env!("CARGO_PKG_RUST_VERSION");
    assert!(said.contains(minimum) && said.contains("1.63.0") && said.contains("rustup.rs"), "{said}");
    assert_eq!(machine.installed(), Vec::<String>::new());
}
