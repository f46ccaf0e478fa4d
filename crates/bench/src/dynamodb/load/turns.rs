//! Who is asked next, so that each gets its share at any time.

/// Hands out turns by weight, as evenly as it goes.
pub struct Turns {
    weights: Vec<i64>,
    credit: Vec<i64>,
}

impl Turns {
    /// One weight for each.
    pub fn new(weights: &[u32]) -> Turns {
        Turns {
            weights: weights.iter().map(|&weight| i64::from(weight)).collect(),
            credit: vec![0; weights.len()],
        }
    }

    /// Whose turn it is.
    pub fn next_turn(&mut self) -> usize {
        let total: i64 = self.weights.iter().sum();
        for (credit, weight) in self.credit.iter_mut().zip(&self.weights) {
            *credit += weight;
        }
        let most = (0..self.credit.len()).max_by_key(|&index| self.credit[index]).unwrap_or(0);
        self.credit[most] -= total;
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_its_share_all_along() {
        let mut turns = Turns::new(&[70, 25, 5]);
        let mut counts = [0; 3];
        for turn in 1..=1_000 {
            counts[turns.next_turn()] += 1;
            let due = 0.7 * f64::from(turn);
            assert!((f64::from(counts[0]) - due).abs() <= 2.0, "{counts:?} after {turn}");
        }
        assert_eq!(counts, [700, 250, 50]);
    }
}
