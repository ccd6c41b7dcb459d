//! What a record measured, in the form in which it is judged: runs that are made of measured lives show how often verdicts are wrong.

use assay_model::record::Record;
use assay_stats::gauge::{Follower, Left};

use crate::capacity::tables::Tables;
pub use crate::evidence::measured::Measured;
use crate::evidence::window::{DecodedRecord, Unreadable};
use crate::response::latency;

/// All tables of a record: those of rates first.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn measured(record: &Record) -> Result<Vec<Measured>, Unreadable> {
    let evidence = DecodedRecord::of(record)?;
    let mut all = Tables::measured(&evidence);
    all.extend(latency::measured(&evidence));
    for (name, _) in all.iter_mut().flat_map(|table| &mut table.contenders) {
        let control = record.entry_of(name);
        if let Some(original) = control.and_then(|entry| entry.control_of.as_ref()) {
            name.clone_from(original);
        }
    }
    Ok(all)
}

/// How the turns of each contender of a record follow the gauge of the CPUs, with its name and the workload; nothing of those that have no
/// readings.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn followers(record: &Record) -> Result<Vec<(String, String, Follower)>, Unreadable> {
    Ok(Tables::followers(&DecodedRecord::of(record)?))
}

/// What the gauge leaves of each turn of a record that counts and has readings, with these.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn left(record: &Record) -> Result<Vec<Left>, Unreadable> {
    Ok(Tables::left(&DecodedRecord::of(record)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn whoever_took_part_twice_is_one_by_name() {
        let a = [1000.0, 1010.0];
        let record = testing::with_control(testing::record(&[("a", &a), ("b", &a), ("a′", &a)]));
        let [table]: [Measured; 1] = measured(&record).expect("readable").try_into().expect("one table");
        assert!(!table.is_tail);
        let names: Vec<&str> = table.contenders.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a"]);
        assert_eq!(table.contenders[0].1, [vec![Some(1000.0_f64.ln())], vec![Some(1010.0_f64.ln())]]);
    }
}
