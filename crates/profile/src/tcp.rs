//! What the kernel's TCP counts in a network namespace (kernel: networking/snmp_counter.rst).

use std::collections::BTreeMap;

/// Fields that are no counts of events: settings, and how many connections there are now (RFC 4022).
const NO_EVENTS: [&str; 5] = ["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"];

/// Events since the start of the namespace that a process is in; `None` where it has ended.
pub(crate) fn counts(pid: u32) -> Option<BTreeMap<String, u64>> {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/net/{file}")).ok();
    Some(parsed(&(read("snmp")? + &read("netstat")?)))
}

/// What happened between two counts; what did not is left out.
pub(crate) fn since(before: &BTreeMap<String, u64>, after: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let new = |(name, count): (String, u64)| {
        let earlier = before.get(&name).copied().unwrap_or(0);
        Some((name, count.checked_sub(earlier).filter(|new| *new > 0)?))
    };
    after.into_iter().filter_map(new).collect()
}

/// Pairs of lines: one with names and one with their values, both with the protocol before them.
fn parsed(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut counts = BTreeMap::new();
    for pair in lines.chunks_exact(2) {
        let (Some((protocol, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        if !matches!(protocol, "Tcp" | "TcpExt") {
            continue;
        }
        let named = names.split_whitespace().zip(values.split_whitespace());
        let events = named.filter(|(name, _)| !NO_EVENTS.contains(name));
        counts.extend(events.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm RtoMin MaxConn ActiveOpens CurrEstab InSegs\nTcp: 1 200 -1 7 3 100\n\
        TcpExt: DelayedACKs ListenOverflows\nTcpExt: 5 0\n";

    #[test]
    fn events_of_tcp_are_read_and_settings_are_not() {
        let counts = parsed(BEFORE);
        let names: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!(names, ["ActiveOpens", "DelayedACKs", "InSegs", "ListenOverflows"]);
    }

    #[test]
    fn what_did_not_happen_is_left_out() {
        let after = BEFORE.replace("7 3 100", "7 9 160").replace("5 0", "5 2");
        let new = since(&parsed(BEFORE), parsed(&after));
        assert_eq!(new, [("InSegs".to_owned(), 60), ("ListenOverflows".to_owned(), 2)].into());
    }

    #[test]
    fn this_kernel_counts_segments() {
        assert!(counts(std::process::id()).is_some_and(|counts| counts.contains_key("InSegs")));
        assert_eq!(counts(u32::MAX), None);
        assert!(parsed("Tcp: a b\nTcp: 1 x\nnonsense").len() == 1);
    }
}
