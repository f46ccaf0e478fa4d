//! Runs every rule over the checkout and prints what it found.

use anyhow::{Result, bail};

use super::checkout::Checkout;
use super::rules::RULES;
use crate::workspace::Workspace;

/// One rule: its name, and the function that finds what breaks it.
pub struct Rule {
    /// Shown before each finding.
    pub name: &'static str,
    /// Finds everything that breaks the rule.
    pub check: fn(&Checkout) -> Vec<Violation>,
}

/// One thing that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// A file, a file and line, or a crate.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// Checks every rule; all findings are printed before it fails.
pub fn run(workspace: &Workspace) -> Result<()> {
    let checkout = Checkout::load(workspace)?;
    let mut found = 0;
    for rule in RULES {
        for violation in (rule.check)(&checkout) {
            found += 1;
            let Violation { place, problem, hint } = violation;
            println!("{}: {place}: {problem}\n  hint: {hint}", rule.name);
        }
    }
    if found > 0 {
        bail!("{found} findings by {} tidy rules", RULES.len());
    }
    println!("{} tidy rules hold over {} files", RULES.len(), checkout.files.len());
    Ok(())
}
