//! Ordinary least squares for a handful of columns.

/// A fitted linear model.
pub(crate) struct Fit {
    /// One coefficient per column.
    pub(crate) coefficients: Vec<f64>,
    /// Σ residual².
    pub(crate) residual_squares: f64,
}

/// Fits `y` on the columns (the caller supplies the intercept) by modified Gram–Schmidt, which stays accurate where
/// normal equations would square the condition number. `None` for ragged columns, more columns than observations, or
/// columns that are collinear to within 1e-9 of their length.
pub(crate) fn fit(y: &[f64], columns: &[Vec<f64>]) -> Option<Fit> {
    let (n, p) = (y.len(), columns.len());
    if n < p || columns.iter().any(|c| c.len() != n) || columns.iter().flatten().chain(y).any(|v| !v.is_finite()) {
        return None;
    }
    let mut q: Vec<Vec<f64>> = columns.to_vec();
    let mut r = vec![vec![0.0; p]; p];
    let mut projections = vec![0.0; p];
    let mut residual = y.to_vec();
    for j in 0..p {
        let length = dot(&columns[j], &columns[j]).sqrt();
        r[j][j] = dot(&q[j], &q[j]).sqrt();
        if r[j][j] <= 1e-9 * length || length == 0.0 {
            return None;
        }
        let unit: Vec<f64> = q[j].iter().map(|v| v / r[j][j]).collect();
        for k in j + 1..p {
            r[j][k] = dot(&unit, &q[k]);
            subtract(&mut q[k], r[j][k], &unit);
        }
        projections[j] = dot(&unit, &residual);
        subtract(&mut residual, projections[j], &unit);
    }
    let mut coefficients = projections;
    for j in (0..p).rev() {
        let known: f64 = (j + 1..p).map(|k| r[j][k] * coefficients[k]).sum();
        coefficients[j] = (coefficients[j] - known) / r[j][j];
    }
    Some(Fit { coefficients, residual_squares: dot(&residual, &residual) })
}

/// Σ aᵢ·bᵢ.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn subtract(from: &mut [f64], times: f64, what: &[f64]) {
    for (f, w) in from.iter_mut().zip(what) {
        *f -= times * w;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_an_exact_plane() {
        let x1 = vec![1.0, 2.0, 3.0, 4.0, 5.0];
        let x2 = vec![0.0, 1.0, 0.0, 1.0, 1.0];
        let y: Vec<f64> = x1.iter().zip(&x2).map(|(a, b)| 2.0 - 0.5 * a + 3.0 * b).collect();
        let fit = fit(&y, &[vec![1.0; 5], x1, x2]).unwrap();
        for (got, want) in fit.coefficients.iter().zip([2.0, -0.5, 3.0]) {
            assert!((got - want).abs() < 1e-12);
        }
        assert!(fit.residual_squares < 1e-24);
    }

    #[test]
    fn refuses_collinear_columns() {
        assert!(fit(&[1.0, 2.0, 3.0], &[vec![1.0; 3], vec![2.0; 3]]).is_none());
    }
}
