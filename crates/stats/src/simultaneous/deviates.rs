//! One scale for critical values at different looks and with different degrees of freedom: that of a normal deviate.

/// 1/2 − Δ of Wang and Tsiatis.
const FALL: f64 = 0.25;

/// What a deviate after `round` of `last` rounds is multiplied with, so that one bound holds for all looks.
pub(super) fn weight(round: usize, last: usize) -> f64 {
    (round as f64 / last as f64).powf(FALL)
}

/// About the normal deviate that is as rare as `t` (Wallace, Ann. Math. Statist. 30, 1959). It only gives the boundary its
/// shape: what is lost in the approximation, the simulation puts right.
pub(super) fn deviate_of_t(t: f64, df: f64) -> f64 {
    (8.0 * df + 1.0) / (8.0 * df + 3.0) * (df * (t * t / df).ln_1p()).sqrt()
}

/// The inverse of [`deviate_of_t`].
pub(super) fn t_of_deviate(deviate: f64, df: f64) -> f64 {
    let unscaled = deviate * (8.0 * df + 3.0) / (8.0 * df + 1.0);
    (df * (unscaled * unscaled / df).exp_m1()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviate_is_less_than_its_t() {
        for df in [1.0, 2.0, 10.0, 1160.0] {
            for t in [1e-9, 0.1, 1.0, 3.0, 1e3, 1e9] {
                assert!(deviate_of_t(t, df) < t, "{t} with {df}");
            }
        }
    }
}
