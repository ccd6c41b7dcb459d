//! What hosts of a load differ by.

use assay_model::evidence::{HostApart, HostMeasure, HostsAlike};

use super::super::phrases::counted;
use crate::format;

pub(super) fn alike(HostsAlike { of_servers, hosts, windows, of_one_load }: HostsAlike) -> String {
    let role = if of_servers { "servers" } else { "load" };
    let windows = if of_servers { counted(windows, "round") } else { of_windows(windows, of_one_load) };
    let hosts = counted(hosts, "host");
    format!("no host of the {role} is shown to differ from the others: {hosts}, {windows}")
}

pub(super) fn apart(found: &HostApart) -> String {
    let HostApart { host, other, measure, ratio, low_ratio, high_ratio, windows, of_one_load } = found;
    let [low, ratio, high] = [*low_ratio, *ratio, *high_ratio].map(format::close_ratio);
    let others = other.as_deref().unwrap_or("the other hosts");
    let (what, of) = match measure {
        HostMeasure::Served => {
            let rounds = counted(u64::from(*windows), "round");
            return format!(
                "the same servers were {ratio} times as fast on {host} as on {others} ({low} to {high}, {rounds})"
            );
        }
        HostMeasure::Throughput => ("as many answers per connection", "as"),
        HostMeasure::Median => ("the median time", "of"),
        HostMeasure::P99 => ("the 99th percentile of the times", "of"),
    };
    format!(
        "from the same servers at the same time {host} got {ratio} times {what} {of} {others} ({low} to {high}, {})",
        of_windows(u64::from(*windows), *of_one_load)
    )
}

/// "10 windows", "10 pieces of the window".
fn of_windows(windows: u64, of_one_load: bool) -> String {
    if of_one_load {
        format!("{} of the window", counted(windows, "piece"))
    } else {
        counted(windows, "window")
    }
}
