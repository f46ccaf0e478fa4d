//! Limits as people type them.

use tidegate_client::Term;
use tidegate_core::ledger::term::{self, InvalidTerm};

/// Reads a limit by the rules of the server, which say what is wrong with one that is none.
pub fn parse(word: &str) -> Result<Term, InvalidTerm> {
    let text = word.parse::<term::Term>()?.to_string();
    text.parse().map_err(|_| InvalidTerm::Form(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_none_is_told_why() {
        assert_eq!(parse("tpm=5/60s,burst=7,soft").unwrap().to_string(), "tpm=5/minute,burst=7,soft");
        let error = parse("tpm=5/fortnight").unwrap_err().to_string();
        assert!(error.starts_with("`fortnight` is no period"), "{error}");
    }
}
