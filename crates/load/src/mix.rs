//! Drawing the kind of each request by weight, in constant time.

use rand::Rng;

/// An alias table (Walker 1977, built as by Vose 1991): one random number a draw, whatever the number of kinds.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    columns: Vec<Column>,
}

/// A column of the table: below `threshold` (of 2³²) its own kind, else the other one.
#[derive(Clone, Copy, Debug)]
struct Column {
    threshold: u64,
    other: u32,
}

impl Mix {
    /// A table of these weights, of which at least one is above 0.
    pub(crate) fn new(weights: &[u32]) -> Self {
        let n = weights.len() as u64;
        let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
        // Scaled so that the mean is `total`: exact in integers.
        let mut mass: Vec<u64> = weights.iter().map(|&w| u64::from(w) * n).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| mass[i] < total);
        let mut columns: Vec<Column> =
            (0..weights.len()).map(|i| Column { threshold: 1 << 32, other: i as u32 }).collect();
        while let (Some(&donor), Some(i)) = (large.last(), small.pop()) {
            let threshold = ((u128::from(mass[i]) << 32) / u128::from(total.max(1))) as u64;
            columns[i] = Column { threshold, other: donor as u32 };
            mass[donor] -= total - mass[i];
            if mass[donor] < total {
                large.pop();
                small.push(donor);
            }
        }
        Self { columns }
    }

    /// Draws a kind. A single kind needs no random number.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> u32 {
        if self.columns.len() <= 1 {
            return 0;
        }
        let random = rng.next_u64();
        // Multiply and shift (Lemire 2019) maps the upper half onto the columns; the lower half is the coin.
        let index = (((random >> 32) * self.columns.len() as u64) >> 32) as u32;
        let column = self.columns[index as usize];
        if (random & 0xffff_ffff) < column.threshold { index } else { column.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    #[test]
    fn kinds_are_drawn_by_weight() {
        let weights = [1, 0, 7, 2, 90];
        let mix = Mix::new(&weights);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [0u32; 5];
        let n = 1_000_000;
        (0..n).for_each(|_| counts[mix.draw(&mut rng) as usize] += 1);
        for (count, weight) in counts.into_iter().zip(weights) {
            let p = f64::from(weight) / 100.0;
            let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!((f64::from(count) - f64::from(n) * p).abs() <= 4.0 * sigma, "{counts:?}");
        }
    }

    #[test]
    fn the_table_holds_the_weights_exactly() {
        for weights in [vec![3], vec![1, 1], vec![5, 3, 0, 11], vec![u32::MAX, 1, u32::MAX], vec![0, 1]] {
            let mix = Mix::new(&weights);
            let mut mass = vec![0f64; weights.len()];
            for (i, column) in mix.columns.iter().enumerate() {
                let own = column.threshold as f64 / 4_294_967_296.0;
                mass[i] += own;
                mass[column.other as usize] += 1.0 - own;
            }
            let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
            for (mass, weight) in mass.iter().zip(&weights) {
                let share = f64::from(*weight) / total * weights.len() as f64;
                assert!((mass - share).abs() < 1e-8, "{weights:?}");
            }
        }
    }
}
