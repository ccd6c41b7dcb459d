//! Hosts as network namespaces on one switch, as far as one machine has them; gone with the test.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{eventually, has};

/// A namespace with a bridge, and one for each host with a cable to it. The machine's own network has nothing of it.
pub(crate) struct Star {
    switch: Namespace,
    hosts: Vec<Namespace>,
}

/// A network namespace, kept by a process that does nothing.
struct Namespace(Child);

impl Namespace {
    fn new() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "infinity"]).stdin(Stdio::null()).stdout(Stdio::null());
        let own = Self(command.spawn().expect("unshare"));
        let here = std::fs::read_link("/proc/self/ns/net").expect("ours");
        let is_apart = || std::fs::read_link(own.path()).is_ok_and(|there| there != here);
        eventually("its network is its own", is_apart);
        own
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.0.id()))
    }

    /// Has `ip` do something there.
    fn ip(&self, words: &str) {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).args(["--", "ip"]).args(words.split(' '));
        assert!(command.status().expect("nsenter").success(), "ip {words}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Star {
    /// A star of as many hosts; none, visibly, where namespaces cannot be had.
    pub(crate) fn new(hosts: usize) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            assay_skip::skip("root", "a network namespace needs root here");
            return None;
        }
        let can = Command::new("unshare").args(["--net", "--time", "--fork", "true"]).status();
        if !can.is_ok_and(|status| status.success()) {
            assay_skip::skip("netns", "needs namespaces of network and time");
            return None;
        }
        if !(has("ip") && has("nsenter")) {
            return None;
        }
        let star = Self { switch: Namespace::new(), hosts: (0..hosts).map(|_| Namespace::new()).collect() };
        star.switch.ip("link add switch type bridge");
        star.switch.ip("link set switch up");
        for (number, host) in star.hosts.iter().enumerate() {
            let pid = host.0.id();
            star.switch.ip(&format!("link add port{number} type veth peer name eth0 netns {pid}"));
            star.switch.ip(&format!("link set port{number} master switch up"));
            host.ip("link set lo up");
            host.ip(&format!("addr add {}/24 dev eth0", star.address(number)));
            host.ip("link set eth0 up");
        }
        Some(star)
    }

    /// The address of a host, from 0.
    pub(crate) fn address(&self, host: usize) -> String {
        format!("198.18.7.{}", host + 1)
    }

    /// Lets a host send so much and no more, as tc-tbf(8) takes it; whether that can be had.
    pub(crate) fn limit(&self, host: usize, rate: &str) -> bool {
        let words = format!("tc qdisc add dev eth0 root tbf rate {rate} burst 16kb latency 1s");
        let mut command = Command::new(&self.entering(host)[0]);
        command.args(&self.entering(host)[1..]).args(words.split(' '));
        command.status().is_ok_and(|status| status.success())
    }

    /// What a host's network is entered by.
    fn entering(&self, host: usize) -> Vec<String> {
        let path = self.hosts[host].path();
        vec!["nsenter".to_owned(), format!("--net={}", path.display()), "--".to_owned()]
    }

    /// The transport to a host whose monotonic clock is `ahead` seconds ahead, as a line of a lab file.
    pub(crate) fn transport(&self, host: usize, ahead: i32) -> String {
        let ahead = ahead.to_string();
        let clock = ["unshare", "--time", "--monotonic", &ahead, "--fork", "--kill-child", "--"];
        let words = self.entering(host).into_iter().chain(clock.map(str::to_owned));
        let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        format!("transport = \"command\"\ncommand = [{}]\n", words.join(", "))
    }

    /// A command on a host.
    pub(crate) fn on(&self, host: usize, command: &Command) -> Command {
        let words = self.entering(host);
        let mut there = Command::new(&words[0]);
        there.args(&words[1..]).arg(command.get_program()).args(command.get_args());
        there.current_dir(command.get_current_dir().expect("folder"));
        there.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        there
    }
}
