//! The endpoint that a segment belongs to: a hash table of flows, whose seed nobody outside knows.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::flow::Flow;

/// Endpoints by flow.
pub(crate) type Flows = HashMap<Flow, u32, Seeded>;

/// Makes [`Folded`] hashers with a secret of this table's.
#[derive(Clone)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(secret())
    }
}

/// A number that differs from process to process and from call to call.
pub(crate) fn secret() -> u64 {
    RandomState::new().hash_one(0)
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// Multiplies and folds the halves of the product, as wyhash does (Wang Yi, 2019): one multiplication for each 64 bits.
pub(crate) struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0xe703_7ed1_a0b4_28db;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u128(&mut self, value: u128) {
        // One after the other: halves that are put together before the secret is in them collide for whoever chooses both.
        self.write_u64((value >> 64) as u64);
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn neighbouring_flows_spread_over_the_table() {
        let hasher = Seeded::default();
        let mut groups = [0u32; 128];
        for port in 0..12_800u16 {
            let flow = Flow::new("10.77.0.1:80".parse().unwrap(), ([10, 77, 0, 2], port).into());
            // The seven bits by which a table tells entries of a group apart.
            groups[(hasher.hash_one(flow) >> 57) as usize] += 1;
        }
        assert!(groups.iter().all(|n| (20..=300).contains(n)), "{groups:?}");
    }

    #[test]
    fn addresses_whose_halves_add_up_to_the_same_are_told_apart() {
        let hasher = Seeded::default();
        let address = |n: u128| hasher.hash_one(n << 64 | (n ^ 0x2001));
        let hashes: BTreeSet<u64> = (0..1_000).map(address).collect();
        assert_eq!(hashes.len(), 1_000);
    }
}
