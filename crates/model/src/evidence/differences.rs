//! What two runs do not have in common.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonSchema;
use crate::imported::Imported;

/// A run of somebody else's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Foreign")]
pub struct ForeignRun {
    /// Its name.
    pub run: String,
    /// Where its figures are from.
    pub origin: Imported,
}

/// A property that two runs do not share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Difference")]
pub struct PropertyDifference {
    /// Name of the property's field, such as `cpu_model`.
    pub property: String,
    /// Its value in the base; null where it is not known.
    pub base: Value,
    /// Its value in the other.
    pub new: Value,
}

impl PropertyDifference {
    /// A property with its two values; nothing when they are equal.
    pub fn of<T: PartialEq + Serialize>(property: &str, base: &T, new: &T) -> Option<Self> {
        // A number that JSON cannot hold is not known either.
        let value = |value: &T| serde_json::to_value(value).unwrap_or_default();
        (base != new).then(|| Self { property: property.to_owned(), base: value(base), new: value(new) })
    }
}
