//! Changes that are told only where they are seen beside the others, too.
//!
//! The changes of several contenders are taken against the same yardstick. If that one changes, all seem to, and nobody can say from
//! one difference which of its two sides it was. But of many, most stay as they are: so a change must be there over the yardstick
//! *and* over the middle of all others. Both may err, and what is told is wrong only where both do (an intersection-union test;
//! Berger, Technometrics 24, 1982).

use std::f64::consts::PI;

use crate::robust::middle;

/// Of each change, with the half-width of its interval, whichever is less sure: the change itself, or its distance from the middle of
/// the others'. `is_over_yardstick`: what they are taken against counts as one of the others, which does not change. Where both
/// are on different sides of nothing, there is none.
pub fn beside_others(changes: &[Option<(f64, f64)>], is_over_yardstick: bool) -> Vec<Option<(f64, f64)>> {
    let less_sure = |(index, change): (usize, &Option<(f64, f64)>)| {
        let (own, half_width) = (*change)?;
        let others = changes.iter().enumerate().filter(|(other, _)| *other != index);
        let mut others: Vec<f64> = others.filter_map(|(_, other)| Some(other.as_ref()?.0)).collect();
        others.extend(is_over_yardstick.then_some(0.0));
        let n = others.len() as f64;
        let Some(common) = middle(&mut others) else { return Some((own, half_width)) };
        // The middle of n varies by π/2n of what one does where all vary alike; they do not, so twice as much is allowed for.
        let beside = (own - common, half_width * (1.0 + PI / n).sqrt());
        Some(match (own * beside.0 < 0.0, own.abs() / half_width <= beside.0.abs() / beside.1) {
            (true, _) => (0.0, beside.1),
            (false, true) => (own, half_width),
            (false, false) => beside,
        })
    };
    changes.iter().enumerate().map(less_sure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(changes: &[f64], is_over_yardstick: bool) -> Vec<bool> {
        let changes: Vec<_> = changes.iter().map(|change| Some((*change, 0.01))).collect();
        let found = beside_others(&changes, is_over_yardstick);
        found.iter().map(|of| of.is_some_and(|(change, half_width)| change.abs() > half_width)).collect()
    }

    #[test]
    fn who_changes_alone_is_told_and_nobody_beside_it() {
        assert_eq!(told(&[0.1, 0.0, 0.001], true), [true, false, false]);
        assert_eq!(told(&[0.1, 0.0, 0.001], false), [true, false, false]);
        assert_eq!(told(&[0.1, 0.09, 0.0, 0.0], true), [true, true, false, false]);
        assert_eq!(told(&[0.1], true), [true]);
        assert_eq!(told(&[0.1], false), [true], "nobody is there to say otherwise");
    }

    #[test]
    fn what_all_seem_to_do_is_the_yardsticks() {
        assert_eq!(told(&[0.05; 4], true), [false; 4]);
        assert_eq!(told(&[0.05; 2], false), [false; 2]);
        assert_eq!(told(&[0.05, 0.05, 0.05, 0.05, 0.0], true), [false; 5], "who goes with the yardstick");
        assert_eq!(told(&[0.05, 0.05, 0.05, 0.15], true), [false, false, false, true]);
    }

    #[test]
    fn nothing_is_known_of_who_was_not_looked_at() {
        assert_eq!(beside_others(&[None, Some((0.1, 0.01))], false), [None, Some((0.1, 0.01))]);
    }
}
