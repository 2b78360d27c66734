//! The few distribution functions the other files need, over `statrs`, with the degenerate cases decided in one place.
use statrs::distribution::{Beta, ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

fn standard() -> Normal {
    Normal::standard()
}

/// P(Z ≤ z).
pub(crate) fn normal_cdf(z: f64) -> f64 {
    standard().cdf(z)
}

/// P(Z > z), accurate far in the tail.
pub(crate) fn normal_sf(z: f64) -> f64 {
    standard().sf(z)
}

/// Inverse of [`normal_cdf`]; polished by Newton steps on the smaller tail, because group-sequential looks ask for p
/// near 1e-7.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let mut z = standard().inverse_cdf(p);
    for _ in 0..2 {
        let density = (-0.5 * z * z).exp() / (std::f64::consts::TAU).sqrt();
        z -= (normal_sf(-z) - p) / density;
    }
    z
}

/// Two-sided tail P(|T| > |t|) of Student's t with `df` degrees of freedom.
pub(crate) fn t_two_sided(t: f64, df: f64) -> f64 {
    match (t.is_nan() || df.is_nan(), t.is_infinite()) {
        (true, _) => f64::NAN,
        (_, true) => 0.0,
        // Beta form: no cancellation far in the tail, unlike 1 - cdf.
        _ => statrs::function::beta::beta_reg(df / 2.0, 0.5, df / (df + t * t)),
    }
}

/// Upper tail P(F > f) with `above` and `below` degrees of freedom of numerator and denominator.
pub(crate) fn f_upper(f: f64, above: f64, below: f64) -> f64 {
    if f.is_nan() || f <= 0.0 {
        return 1.0;
    }
    statrs::function::beta::beta_reg(below / 2.0, above / 2.0, below / (below + above * f))
}

/// The t with P(|T| > t) = `p`: the multiplier of an interval at level 1 − p.
pub(crate) fn t_critical(p: f64, df: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if p >= 1.0 {
        return 0.0;
    }
    // statrs' own inverse fails to converge for p near 1e-8. Newton's method on the logarithms converges: the logarithm
    // of the tail is concave in that of t, so after the first step the iterates come from the right, and four or five
    // steps are enough.
    let ln_density = ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0) - 0.5 * (df * std::f64::consts::PI).ln();
    let mut t = -normal_quantile(p / 2.0);
    for _ in 0..100 {
        let tail = t_two_sided(t, df);
        let slope = 2.0 * t * (ln_density - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp() / tail;
        let next = t * ((tail / p).ln() / slope).exp();
        // The step is down to rounding error, or the value is out of the range of floats.
        let is_there = (next / t - 1.0).abs() < 1e-14;
        if !next.is_finite() || next <= 0.0 {
            break;
        }
        t = next;
        if is_there {
            break;
        }
    }
    t
}

/// Inverse of the regularised incomplete beta function.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "{got} instead of {want}");
    }

    #[test]
    fn quantiles_match_published_tables() {
        check(normal_quantile(0.975), 1.959_963_984_540, 1e-9);
        check(normal_quantile(1e-7), -5.199_337_582_19, 1e-7);
        check(t_critical(0.05, 1.0), 12.706_204_736, 1e-6);
        check(t_critical(0.05, 7.0), 2.364_624_252, 1e-8);
        check(t_critical(0.01, 19.0), 2.860_934_606, 1e-8);
        check(t_critical(0.001, 5.0), 6.868_826_626, 1e-6);
        check(t_critical(0.05, 1e6), 1.959_966, 1e-5);
    }

    #[test]
    fn critical_value_inverts_the_tail() {
        for df in [0.5, 1.0, 1.01, 3.5, 7.0, 40.0, 1e3, 1e6] {
            for p in [1e-60, 1e-30, 1e-8, 1e-6, 0.01, 0.3, 0.999] {
                let back = t_two_sided(t_critical(p, df), df);
                assert!((back / p - 1.0).abs() < 1e-6, "df {df} p {p} gives {back}");
            }
        }
    }
}
