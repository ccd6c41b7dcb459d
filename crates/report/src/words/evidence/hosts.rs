//! What hosts of a load differ by.

use assay_model::evidence::{HostApart, HostMeasure};

use super::many;
use crate::format;

pub(super) fn alike(hosts: u64, windows: u64) -> String {
    format!(
        "no host of the load is shown to differ from the others: {}, {}",
        many(hosts, "host"),
        many(windows, "window")
    )
}

pub(super) fn apart(found: &HostApart) -> String {
    let HostApart { host, other, measure, ratio, low_ratio, high_ratio, windows } = found;
    let [low, ratio, high] = [*low_ratio, *ratio, *high_ratio].map(format::close_ratio);
    let others = other.as_deref().unwrap_or("the other hosts");
    let what = match measure {
        HostMeasure::Throughput => "as many answers per connection",
        HostMeasure::Median => "the median time",
        HostMeasure::P99 => "the 99th percentile of the times",
    };
    let of = if *measure == HostMeasure::Throughput { "as" } else { "of" };
    format!(
        "from the same servers at the same time {host} got {ratio} times {what} {of} {others} ({low} to {high}, {})",
        many(u64::from(*windows), "window")
    )
}
