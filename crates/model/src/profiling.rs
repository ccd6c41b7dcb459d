//! Whether a run looks where the time of its servers goes.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// The lives that are profiled, after their windows, in slices of load of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub enum Profiling {
    /// No life at all.
    #[default]
    Never,
    /// Lives of the first round, each in one cell at capacity and in one short slice: enough for a budget, and too little to compare.
    Once,
    /// All, in every cell.
    Always,
}

impl Profiling {
    /// Whether nobody is profiled.
    pub fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// The wish as an experiment writes it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    /// Whether every life is profiled in every cell.
    Whether(bool),
    /// How often, in a word.
    Word(Word),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Word {
    /// In the first round alone.
    Once,
}

impl From<Written> for Profiling {
    fn from(written: Written) -> Self {
        match written {
            Written::Whether(false) => Self::Never,
            Written::Whether(true) => Self::Always,
            Written::Word(Word::Once) => Self::Once,
        }
    }
}

impl From<Profiling> for Written {
    fn from(profiling: Profiling) -> Self {
        match profiling {
            Profiling::Never => Self::Whether(false),
            Profiling::Always => Self::Whether(true),
            Profiling::Once => Self::Word(Word::Once),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_truth_or_a_word_and_is_written_as_it_was_read() {
        for (text, profiling) in
            [("false", Profiling::Never), ("true", Profiling::Always), ("\"once\"", Profiling::Once)]
        {
            let read: Profiling = serde_json::from_str(text).expect(text);
            assert_eq!(read, profiling);
            assert_eq!(serde_json::to_string(&read).expect("written"), text);
        }
        assert!(serde_json::from_str::<Profiling>("\"twice\"").is_err());
    }
}
