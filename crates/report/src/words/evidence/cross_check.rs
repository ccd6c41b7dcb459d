//! What other generators found of the same servers.

use assay_model::evidence::{GeneratorGetsMore, GeneratorsAgree, GeneratorsDisagree};

use super::super::phrases::counted;
use crate::format;

pub(super) fn agree(agree: &GeneratorsAgree) -> String {
    let ratios = match agree.pairs {
        0 => String::new(),
        pairs => format!(
            ", and {} told alike",
            if pairs == 1 { "1 ratio is".to_owned() } else { format!("{pairs} ratios are") }
        ),
    };
    format!(
        "no other generator gets more out of a server than ours, in {}{ratios}",
        counted(agree.comparisons, "comparison")
    )
}

pub(super) fn more(found: &GeneratorGetsMore) -> String {
    let GeneratorGetsMore { contender, generator, cell, ratio, low_ratio, high_ratio } = found;
    let [low, ratio, high] = [*low_ratio, *ratio, *high_ratio].map(format::close_ratio);
    format!(
        "{generator} got {ratio} times as much out of {contender} as our generator ({low} to {high}; {cell})"
    )
}

pub(super) fn disagree(found: &GeneratorsDisagree) -> String {
    let GeneratorsDisagree { generator, contenders: [first, second], cell, .. } = found;
    let [theirs, ours] = [found.theirs, found.ours].map(format::close_ratio);
    format!("{first} over {second} is {theirs} under {generator} and {ours} under our generator ({cell})")
}
