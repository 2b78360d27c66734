//! The Cholesky factor of a small symmetric positive definite matrix.

use crate::ols::dot;

/// L of A = L·Lᵀ, as the rows of its lower triangle.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    rows: Vec<f64>,
    n: usize,
}

impl Cholesky {
    /// Factors the `n` by `n` matrix with the elements `a(i, j)`, j ≤ i; `None` if it is not positive definite.
    pub(crate) fn new(n: usize, a: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut factor = Self { rows: Vec::with_capacity(n * (n + 1) / 2), n: 0 };
        for i in 0..n {
            let row: Vec<f64> = (0..i).map(|j| a(i, j)).collect();
            factor.push(row, a(i, i))?;
        }
        Some(factor)
    }

    /// Adds a row and a column: its elements before the diagonal, and the one on it.
    pub(crate) fn push(&mut self, row: Vec<f64>, diagonal: f64) -> Option<()> {
        let row = self.solve_lower(row);
        let rest = diagonal - dot(&row, &row);
        if rest.is_nan() || rest <= 1e-12 * diagonal.abs() {
            return None;
        }
        self.rows.extend(row);
        self.rows.push(rest.sqrt());
        self.n += 1;
        Some(())
    }

    fn row(&self, i: usize) -> &[f64] {
        let start = i * (i + 1) / 2;
        &self.rows[start..=start + i]
    }

    /// L⁻¹·b.
    pub(crate) fn solve_lower(&self, mut b: Vec<f64>) -> Vec<f64> {
        for i in 0..self.n {
            let row = self.row(i);
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
        b
    }

    /// A⁻¹·b.
    pub(crate) fn solve(&self, b: Vec<f64>) -> Vec<f64> {
        let mut x = self.solve_lower(b);
        for i in (0..self.n).rev() {
            let row = self.row(i);
            x[i] /= row[i];
            let known = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= l * known);
        }
        x
    }

    /// ln det A.
    pub(crate) fn log_determinant(&self) -> f64 {
        (0..self.n).map(|i| 2.0 * self.row(i)[i].ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [[f64; 3]; 3] = [[4.0, 2.0, -2.0], [2.0, 10.0, 2.0], [-2.0, 2.0, 6.0]];

    #[test]
    fn solves_and_knows_the_determinant() {
        let factor = Cholesky::new(3, |i, j| A[i][j]).unwrap();
        let x = factor.solve(vec![4.0, 14.0, 6.0]);
        let back: Vec<f64> = A.iter().map(|row| dot(row, &x)).collect();
        assert!(back.iter().zip([4.0, 14.0, 6.0]).all(|(got, want)| (got - want).abs() < 1e-12), "{back:?}");
        assert!((factor.log_determinant() - 144f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_none() {
        assert!(Cholesky::new(2, |_, _| 1.0).is_none());
        assert!(Cholesky::new(1, |_, _| f64::NAN).is_none());
    }
}
