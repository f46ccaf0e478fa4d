//! Rust source with comments and string contents blanked, so that a rule sees only code.
//!
//! Line breaks stay where they are: a finding's line number is that of the file.

/// Replaces comments and the insides of string and char literals by nothing, keeping every line break.
pub fn without_comments_and_strings(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let before_is_word =
            code.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_length(rest)
        } else if let Some(length) = (!before_is_word).then(|| raw_string_length(rest)).flatten() {
            length
        } else if next == '"' {
            quoted_length(rest, '"')
        } else if is_char_literal(rest) {
            quoted_length(rest, '\'')
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        let (skipped, after) = rest.split_at(length);
        code.extend(skipped.chars().filter(|&skipped| skipped == '\n'));
        rest = after;
    }
    code
}

/// Block comments nest.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `r"..."`, `r#"..."#`, `br"..."` and `cr"..."`, if one starts here.
fn raw_string_length(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = rest[prefix.len()..].chars().take_while(|&next| next == '#').count();
    let open = prefix.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(rest[open..].find(&close).map_or(rest.len(), |end| open + end + close.len()))
}

/// From an opening quote to after its closing one; a backslash guards the next character.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut guarded = false;
    for (at, next) in rest.char_indices().skip(1) {
        if guarded {
            guarded = false;
        } else if next == '\\' {
            guarded = true;
        } else if next == quote {
            return at + quote.len_utf8();
        }
    }
    rest.len()
}

/// A quote opens a char literal, unless it starts a lifetime.
fn is_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('\'')
        && match chars.next() {
            Some('\\') => true,
            Some(_) => chars.next() == Some('\''),
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use super::without_comments_and_strings;

    #[track_caller]
    fn check(source: &str, code: &str) {
        assert_eq!(without_comments_and_strings(source), code);
    }

    #[test]
    fn comments_go_and_line_breaks_stay() {
        check("a // b\nc", "a \nc");
        check("a /* b\n /* c */ d */ e", "a \n e");
        check("//! doc\nfn f() {}", "\nfn f() {}");
    }

    #[test]
    fn strings_go() {
        check(r#"f("a\"b") + 1"#, "f() + 1");
        check("f(r#\"a \" b\"#, br\"x\")", "f(, )");
        check("f(\"one\ntwo\")", "f(\n)");
    }

    #[test]
    fn a_lifetime_is_not_a_char_literal() {
        check(
            "fn f<'a>(x: &'a str, y: char) { y == '\"' || y == '\\'' }",
            "fn f<'a>(x: &'a str, y: char) { y ==  || y ==  }",
        );
    }

    #[test]
    fn a_word_that_ends_in_r_does_not_start_a_raw_string() {
        check("bar\"x\"", "bar");
        check("for r#type in x {}", "for r#type in x {}");
    }
}
