//! Everything that can be wrong with a configuration, each with a next step.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::source::{Place, Source};
use super::value::Kind;

/// What is wrong, all of it: people fix a configuration in one go.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}error: {problem}\nhint: {}", problem.hint())?;
        }
        Ok(())
    }
}

/// One thing that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file could not be read.
    #[error("cannot read {}: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser says.
        reason: String,
    },
    /// The file has a key that no option has.
    #[error("{place}: there is no option {path}")]
    UnknownKey {
        /// Where.
        place: Place,
        /// The key with its section.
        path: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// The file gives a plain value to a name that is a section.
    #[error("{place}: {section} is a section, not an option")]
    NotASection {
        /// Where.
        place: Place,
        /// The section.
        section: &'static str,
    },
    /// There is a variable that no option has.
    #[error("{name}: there is no such option")]
    UnknownVariable {
        /// The variable.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A variable holds bytes that are not text.
    #[error("{name}: the value is not valid UTF-8")]
    NotText {
        /// The variable.
        name: String,
    },
    /// A value is not what its option takes.
    #[error("{source}: {path} cannot be {value}; expected {expected}", source = .at)]
    BadValue {
        /// Where the value came from.
        at: Source,
        /// The option.
        path: &'static str,
        /// The value, ready to show: quoted, and hidden if it is a secret.
        value: String,
        /// What the option takes.
        expected: Kind,
        /// The next step.
        hint: String,
    },
    /// Options that do not go together.
    #[error("{what}")]
    Rule {
        /// What does not go together.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

impl Problem {
    /// The next step for whoever reads it.
    pub fn hint(&self) -> String {
        match self {
            Problem::Unreadable { .. } => {
                "check the path given by --config or TIDEGATE_CONFIG, or leave it out to use the defaults"
                    .to_owned()
            }
            Problem::Syntax { .. } => {
                "the file is TOML; `tidegate config print` shows a complete one".to_owned()
            }
            Problem::UnknownKey { nearest: Some(nearest), .. }
            | Problem::UnknownVariable { nearest: Some(nearest), .. } => format!("did you mean {nearest}?"),
            Problem::UnknownKey { .. } => "`tidegate config print` lists every option".to_owned(),
            Problem::UnknownVariable { .. } => {
                "unset it; `tidegate config reference` lists every variable".to_owned()
            }
            Problem::NotASection { section, .. } => format!("write [{section}] and put its options below"),
            Problem::NotText { name } => format!("set {name} to plain text, or unset it"),
            Problem::BadValue { hint, .. } | Problem::Rule { hint, .. } => hint.clone(),
        }
    }
}
