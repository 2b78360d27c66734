//! The Pareto front.

/// Which of the points are on the front: no other point is at least as good in every objective and better in one.
/// Larger is better.
pub fn front(points: &[Vec<f64>]) -> Vec<usize> {
    let beats = |a: &[f64], b: &[f64]| {
        let pairs = || a.iter().zip(b);
        pairs().all(|(a, b)| a >= b) && pairs().any(|(a, b)| a > b)
    };
    (0..points.len()).filter(|&i| !points.iter().any(|other| beats(other, &points[i]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_beaten_is_not_on_it() {
        let points = [vec![1.0, 0.0], vec![0.0, 1.0], vec![0.0, 0.0], vec![0.5, 0.5], vec![0.5, 0.4], vec![1.0, 0.0]];
        assert_eq!(front(&points), [0, 1, 3, 5], "equals do not beat each other");
        assert_eq!(front(&[vec![1.0], vec![3.0], vec![2.0]]), [1]);
        assert_eq!(front(&[]), [0usize; 0]);
    }
}
