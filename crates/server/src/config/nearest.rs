//! The known name that an unknown one was probably meant to be.

/// Names less alike than this are more likely to mislead than to help.
const ALIKE: f64 = 0.8;

/// The candidate most like `name`, if any is alike enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated = candidates.into_iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    let best = rated.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= ALIKE).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let words = ["max_connections", "max_body_bytes", "address"];
        let cases = [
            ("max_conections", Some("max_connections")),
            ("adress", Some("address")),
            ("max_body", Some("max_body_bytes")),
            ("zzz", None),
        ];
        for (slip, meant) in cases {
            assert_eq!(nearest(slip, words), meant, "{slip}");
        }
    }
}
