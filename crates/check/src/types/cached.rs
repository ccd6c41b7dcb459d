//! Several rows from the server's memory.

use assay_model::conformance::Severity::{Must, Should};

use super::{common, rows};
use crate::route::TestType::Cached;
use crate::rule::{Rule, Tempo};

const SOURCE: &str = "TechEmpower, cached queries";

pub(super) const RULES: &[Rule] = rows::rules_of_rows!(
    Cached, "cached", SOURCE,
    path of 15,
    []
);
