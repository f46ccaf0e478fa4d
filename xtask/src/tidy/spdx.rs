//! Whether a licence expression can be met from a list: SPDX's `OR`, `AND`, `WITH` and brackets, and the old `A/B`.

/// True when the allowed identifiers meet the expression. An expression that cannot be read is not met.
pub fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let met = reader.any();
    reader.words.is_empty() && met == Some(true)
}

/// Reads by descent: `OR` binds least, then `AND`, then `WITH`.
struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl Reader<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.eat("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.eat("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.eat("(") {
            let met = self.any()?;
            return self.eat(")").then_some(met);
        }
        let licence = self.next()?;
        if self.eat("WITH") {
            let with = format!("{licence} WITH {}", self.next()?);
            return Some(self.allowed.contains(&with.as_str()));
        }
        Some(self.allowed.contains(&licence.as_str()))
    }

    fn next(&mut self) -> Option<String> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some((*first).to_owned())
    }

    fn eat(&mut self, word: &str) -> bool {
        let eats = self.words.first() == Some(&word);
        if eats {
            self.words = &self.words[1..];
        }
        eats
    }
}

#[cfg(test)]
mod tests {
    use super::is_met;

    const ALLOWED: &[&str] = &["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];

    #[track_caller]
    fn check(expression: &str, met: bool) {
        assert_eq!(is_met(expression, ALLOWED), met, "{expression}");
    }

    #[test]
    fn one_licence() {
        check("MIT", true);
        check("GPL-3.0", false);
    }

    #[test]
    fn or_needs_one_and_and_needs_both() {
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0/MIT", true);
        check("GPL-3.0 AND MIT", false);
        check("(MIT OR Apache-2.0) AND GPL-3.0", false);
        check("MIT AND (GPL-3.0 OR Apache-2.0)", true);
        check("GPL-3.0 OR GPL-2.0", false);
    }

    #[test]
    fn an_exception_is_a_licence_of_its_own() {
        check("Apache-2.0 WITH LLVM-exception", true);
        check("MIT WITH LLVM-exception", false);
    }

    #[test]
    fn what_cannot_be_read_is_not_met() {
        check("", false);
        check("MIT AND", false);
        check("(MIT", false);
        check("MIT Apache-2.0", false);
    }
}
