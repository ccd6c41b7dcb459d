//! What proxies cost in sentences: one for each cell, and one for each rate.

use assay_model::experiment::Cell;
use assay_model::verdict::{AddedLatency, AddedQuantile, Verdict};

use crate::format;
use crate::proxy::{self, Added, Costs};
use crate::titles::load_in_words;
use crate::words::phrases::{all_of, count_of};

/// What arrives through each proxy of what the server behind it serves alone, then what each adds to response times.
pub(super) fn sentences(verdict: &Verdict) -> Vec<String> {
    let mut sentences: Vec<String> = proxy::costs(verdict).iter().filter_map(passed_on).collect();
    sentences.extend(proxy::added(verdict).iter().filter_map(added));
    sentences
}

fn passed_on(costs: &Costs<'_>) -> Option<String> {
    let told: Vec<String> = (costs.rows.iter())
        .filter_map(|cost| {
            // One round alone has a ratio and no interval: it stands in the table and is no finding.
            let ratio = cost.ratio.filter(|ratio| ratio.low < ratio.high)?;
            let share = format::percent_interval(&ratio);
            Some(format!("{} passes on {} {}", cost.contender, share.estimate, share.interval))
        })
        .collect();
    let straight = &costs.rows.first()?.straight;
    (!told.is_empty()).then(|| {
        format!("Of what {straight} serves alone in its place ({}), {}.", place(costs.cell), all_of(&told))
    })
}

fn added(added: &Added<'_>) -> Option<String> {
    let told: Vec<String> = added.rows.iter().filter_map(|row| of_proxy(row)).collect();
    let (load, place) = (load_in_words(added.cell.offered), place(added.cell));
    (!told.is_empty()).then(|| format!("At {load} ({place}), {} to response times.", all_of(&told)))
}

/// At the median, and at the highest percentile that is told.
fn of_proxy(row: &AddedLatency) -> Option<String> {
    let at = |of: &AddedQuantile| {
        let told = format::added_duration(&of.added_ns);
        format!("{} {} at {}", told.estimate, told.interval, proxy::quantile_name(of.quantile))
    };
    let (first, last) = (row.quantiles.first()?, row.quantiles.last()?);
    let both = if first.quantile == last.quantile { vec![at(first)] } else { vec![at(first), at(last)] };
    Some(format!("{} adds {}", row.contender, all_of(&both)))
}

fn place(cell: &Cell) -> String {
    format!("{} at {}", cell.workload, count_of(cell.connections as usize, "connection"))
}

#[cfg(test)]
mod tests {
    use assay_model::offered::Offered;
    use assay_model::verdict::{Call, Interval, ProxyCost};

    use super::*;

    fn around(estimate: f64, half: f64) -> Interval {
        Interval { estimate, low: estimate - half, high: estimate + half, confidence: 0.95 }
    }

    fn cost(contender: &str, share: f64) -> ProxyCost {
        ProxyCost {
            contender: contender.to_owned(),
            cell: Cell::closed("hello", 64),
            straight: "assay".to_owned(),
            per_second: None,
            straight_per_second: None,
            ratio: Some(around(share, 0.02)),
            call: Some(Call::Distinct),
            cpu_per_request_ns: None,
            upstream_cpu_per_request_ns: None,
            withheld: None,
        }
    }

    #[test]
    fn one_sentence_says_what_arrives_through_each_proxy() {
        let (one, other) = (cost("haproxy-proxy", 0.61), cost("nginx-proxy", 0.38));
        let told = passed_on(&Costs { cell: &one.cell, rows: vec![&one, &other] });
        assert_eq!(
            told.as_deref(),
            Some(
                "Of what assay serves alone in its place (hello at 64 connections), haproxy-proxy passes on 61 % [59 … 63 %] and \
                 nginx-proxy passes on 38 % [36 … 40 %]."
            )
        );
        let single = ProxyCost { ratio: Some(around(0.5, 0.0)), ..cost("a", 0.5) };
        assert_eq!(passed_on(&Costs { cell: &single.cell, rows: vec![&single] }), None);
    }

    #[test]
    fn what_is_added_is_told_at_the_median_and_at_the_highest_percentile() {
        let of = |quantile, ns| AddedQuantile {
            quantile,
            through_ns: 2e5,
            straight_ns: 1e5,
            added_ns: around(ns, 2000.0),
        };
        let row = AddedLatency {
            contender: "nginx-proxy".to_owned(),
            cell: Cell { offered: Offered::Rate(5000), ..Cell::closed("hello", 64) },
            offered_per_second: 5000.0,
            pairs: 6,
            quantiles: vec![of(0.5, 58_000.0), of(0.9, 60_000.0), of(0.99, -1000.0)],
            withheld: None,
        };
        let told_of = |row: &AddedLatency| {
            added(&Added { cell: &row.cell, rows: vec![row], quantiles: vec![0.5, 0.9, 0.99] })
        };
        let told = told_of(&row);
        assert_eq!(
            told.as_deref(),
            Some(
                "At 5000/s (hello at 64 connections), nginx-proxy adds +58.0 µs [+56.0 … +60.0 µs] at p50 and \
                 −1.00 µs [−3.00 … +1.00 µs] at p99 to response times."
            )
        );
        let common = AddedLatency { cell: Cell { offered: Offered::Common, ..row.cell.clone() }, ..row };
        let told = told_of(&common).expect("a sentence");
        assert!(told.starts_with("At the common rate (hello at 64 connections), "), "{told}");
    }
}
