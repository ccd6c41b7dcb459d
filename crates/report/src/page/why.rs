//! Where the time goes in one cell: figures for the bars, and the texts that every format shares.

use assay_model::JsonSchema;
use assay_model::experiment::Cell;
use assay_model::part::Part;
use assay_model::record::Record;
use assay_model::why::{Spending, Why};
use serde::Serialize;

use crate::sentences::why::of_cell;
use crate::why::{Line, differences, doing, footing, grounds, is_faithful, lines, part_name, parts, sides};

/// The last part, in their order, that the kernel alone spends.
const LAST_OF_KERNEL: Part = Part::Files;

/// What profiles tell of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// What is said of it.
    pub sentences: Vec<String>,
    /// The parts that anybody has, in the order of all bars: the kernel's first.
    pub parts: Vec<PartName>,
    /// Every contender, the one that spends least on an answer first.
    pub spendings: Vec<Spending>,
    /// Every other contender against the first, part by part, and each on the user-space stack against itself on the kernel's.
    pub compared: Vec<Compared>,
    /// What the figures of each contender rest on.
    pub grounds: Vec<Grounds>,
    /// By which rules functions belong to parts, and which counters tell energy.
    pub rules: String,
}

/// A part and its name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartName {
    /// The part.
    pub part: Part,
    /// What people call it.
    pub name: String,
    /// Whether the kernel spends it.
    pub is_kernel: bool,
}

/// Where one contender spends more than another, as texts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// Name of the one with which it is compared.
    pub base: String,
    /// Name of the contender.
    pub contender: String,
    /// The parts that differ, those that do not, and all together.
    pub lines: Vec<Line>,
}

/// What the figures of a contender rest on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Grounds {
    /// Name of the contender.
    pub contender: String,
    /// What it does for an answer, and how its threads wait.
    pub doing: String,
    /// Samples, and what speaks against them.
    pub grounds: String,
    /// Whether the samples stand for its CPU time, and taking them changed little.
    pub is_faithful: bool,
}

impl Explained {
    /// The page's data of a cell.
    pub(super) fn of(record: &Record, why: &Why) -> Self {
        let mut all = parts(why);
        all.sort();
        let name = |part: Part| PartName {
            part,
            name: part_name(part).to_owned(),
            is_kernel: part <= LAST_OF_KERNEL,
        };
        let compared = differences(why).map(|difference| {
            let [base, contender] = sides(difference);
            Compared { base, contender, lines: lines(difference) }
        });
        let rests = |spending: &Spending| Grounds {
            contender: spending.contender.clone(),
            doing: doing(spending),
            grounds: grounds(spending),
            is_faithful: is_faithful(spending),
        };
        Self {
            cell: why.cell.clone(),
            sentences: of_cell(why),
            parts: all.into_iter().map(name).collect(),
            spendings: why.spendings.clone(),
            compared: compared.collect(),
            grounds: why.spendings.iter().map(rests).collect(),
            rules: footing(record, why),
        }
    }
}
