//! A relative link in a Markdown file leads to a file of the checkout.

use crate::tidy::checkout::{Checkout, TextFile};
use crate::tidy::report::Violation;

/// Every link to a file that is not there.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in checkout.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (number, link) in links(file) {
            if !resolve(&file.path, &link).is_some_and(|path| path.is_empty() || checkout.has(&path)) {
                violations.push(Violation {
                    place: format!("{}:{number}", file.path),
                    problem: format!("the link to {link} leads nowhere"),
                    hint: "correct the path, from the folder of the file that links",
                });
            }
        }
    }
    violations
}

/// The relative targets of `[text](target)`, outside code blocks, with their lines.
fn links(file: &TextFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|after| after.split([')', ' ', '#']).next());
        let relative = targets.filter(|target| !target.is_empty() && !target.contains(':'));
        found.extend(relative.map(|target| (index + 1, target.to_owned())));
    }
    found
}

/// The target from the root of the checkout; nothing if it leaves the checkout.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn relative_links_are_followed() {
        let good = "[a](guide.md#start) [b](../README.md) [c](https://example.com) [d](#here) [e](./internals/)\n\
                    ```\n[x](nowhere.md)\n```\n";
        let bad = "fine\n[a](missing.md)\n[b](../../outside.md)\n";
        let found = check(&files(&[
            ("README.md", ""),
            ("docs/good.md", good),
            ("docs/guide.md", ""),
            ("docs/internals/table.md", ""),
            ("docs/bad.md", bad),
        ]));
        assert_eq!(places(&found), ["docs/bad.md:2", "docs/bad.md:3"]);
    }
}
