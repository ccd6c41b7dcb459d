//! The rules by which functions belong to parts: data, `rules.toml`.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::LazyLock;

use assay_model::part::Part;
use serde::Deserialize;

/// The rules of this build. That they can be read, a test shows.
pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::read(include_str!("rules.toml")).unwrap_or_default());

/// What stands before the name of a system call in the functions that carry it out.
const BEFORE_SYS: [&str; 5] = ["__x64_", "__ia32_", "__arm64_", "__se_", "__do_"];

/// Names that decide to which part something belongs.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    whole: BTreeMap<String, Part>,
    /// Begins of names, in their order.
    begins: BTreeMap<String, Part>,
}

/// All rules.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Version of the rules.
    pub(super) version: u32,
    /// Functions of the kernel.
    pub(super) kernel: Patterns,
    /// Names of threads.
    pub(super) thread: Patterns,
    /// Functions that decide from anywhere in a stack.
    pub(super) within: Patterns,
    /// Innermost functions.
    pub(super) function: Patterns,
    /// Files of innermost functions.
    pub(super) module: Patterns,
    /// Functions that take a lock that parks its threads.
    pub(super) lock: Patterns,
    /// Functions and classes of the locks that a runtime knows and the kernel does not.
    pub(super) runtime_lock: Patterns,
    /// Functions that a thread without work is in.
    pub(super) pool: Patterns,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    kernel: Vec<Rule>,
    thread: Vec<Rule>,
    within: Vec<Rule>,
    function: Vec<Rule>,
    module: Vec<Rule>,
    #[serde(default)]
    lock: Vec<Rule>,
    #[serde(default)]
    runtime_lock: Vec<Rule>,
    #[serde(default)]
    pool: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    part: Part,
    #[serde(alias = "symbols")]
    names: Vec<String>,
}

impl Rules {
    /// Reads rules.
    ///
    /// # Errors
    /// When the file is not well formed, or a pattern stands in two parts.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let Written { version, kernel, thread, within, function, module, lock, runtime_lock, pool } =
            toml::from_str(text).map_err(|error| error.to_string())?;
        Ok(Self {
            version,
            kernel: Patterns::of(kernel)?,
            thread: Patterns::of(thread)?,
            within: Patterns::of(within)?,
            function: Patterns::of(function)?,
            module: Patterns::of(module)?,
            lock: Patterns::of(lock)?,
            runtime_lock: Patterns::of(runtime_lock)?,
            pool: Patterns::of(pool)?,
        })
    }
}

impl Patterns {
    fn of(rules: Vec<Rule>) -> Result<Self, String> {
        let mut patterns = Self::default();
        for Rule { part, names } in rules {
            for name in names {
                let known = match name.strip_suffix('*') {
                    Some(begin) => patterns.begins.insert(begin.to_owned(), part),
                    None => patterns.whole.insert(name.clone(), part),
                };
                if known.is_some() {
                    return Err(format!("`{name}` stands there twice"));
                }
            }
        }
        Ok(patterns)
    }

    /// The part of a name: of the whole, else of the longest begin.
    pub(super) fn part_of(&self, name: &str) -> Option<Part> {
        // A begin of a name stands before it, and the longest is the nearest; others may stand between them.
        let before = || self.begins.range::<str, _>((Bound::Unbounded, Bound::Included(name))).rev();
        let letter = name.as_bytes().first();
        let alike = || before().take_while(|(begin, _)| begin.as_bytes().first() == letter);
        let begin = || alike().find(|(begin, _)| name.starts_with(begin.as_str()));
        self.whole.get(name).or_else(|| begin().map(|(_, part)| part)).copied()
    }
}

/// The name of a function of the kernel without what compilers and the tables of system calls add.
pub(super) fn plain(symbol: &str) -> &str {
    let symbol = symbol.split('.').next().unwrap_or(symbol);
    let bare = BEFORE_SYS
        .iter()
        .find_map(|before| symbol.strip_prefix(before).filter(|rest| rest.starts_with("sys_")));
    bare.unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_this_build_can_be_read() {
        let rules = Rules::read(include_str!("rules.toml")).expect("rules");
        assert_eq!(rules.version, RULES.version);
        assert!(rules.version > 0);
    }

    #[test]
    fn the_whole_name_decides_before_the_longest_begin() {
        let text = "version = 1\nkernel = [{ part = 'send', names = ['tcp_send*', 'tcp_*', 'tcp_sendmsg'] }, \
            { part = 'receive', names = ['tcp_sendmsg_zero*', 'tcp_v4_rcv'] }]\n\
            thread = []\nwithin = []\nfunction = []\nmodule = []\n";
        let kernel = Rules::read(text).expect("rules").kernel;
        assert_eq!(kernel.part_of("tcp_sendmsg_zerocopy"), Some(Part::Receive));
        assert_eq!(kernel.part_of("tcp_sendmsg_locked"), Some(Part::Send));
        assert_eq!(kernel.part_of("tcp_zzz"), Some(Part::Send));
        assert_eq!(kernel.part_of("tcp_v4_rcv"), Some(Part::Receive));
        assert_eq!((kernel.part_of("udp"), kernel.part_of("")), (None, None));
    }

    #[test]
    fn a_pattern_in_two_parts_and_an_unknown_key_are_refused() {
        let rest = "thread = []\nwithin = []\nfunction = []\nmodule = []\n";
        let twice = format!(
            "version = 1\nkernel = [{{ part = 'send', names = ['a'] }}, {{ part = 'libc', names = ['a'] }}]\n{rest}"
        );
        assert!(Rules::read(&twice).is_err_and(|why| why.contains("`a` stands there twice")));
        assert!(Rules::read(&format!("version = 1\nkernel = []\nkernels = []\n{rest}")).is_err());
    }

    #[test]
    fn what_compilers_and_tables_add_to_names_is_left_out() {
        assert_eq!(plain("__netif_receive_skb_core.constprop.0"), "__netif_receive_skb_core");
        assert_eq!((plain("__x64_sys_epoll_wait"), plain("__do_sys_brk")), ("sys_epoll_wait", "sys_brk"));
        assert_eq!((plain("__do_softirq"), plain("__se_page")), ("__do_softirq", "__se_page"));
    }
}
