//! The three sources, merged: a flag wins over a variable, a variable over the file, the file over the default.
//!
//! Everything comes in through [`Sources`], so tests need no real environment.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::error::{Error, Problem};
use super::source::Source;
use super::table::{self, OptionSpec};
use super::value::Input;
use super::{Config, environment, file, mismatch, rules};

/// Where values are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file that `--config` names; without it `TIDEGATE_CONFIG` is asked. There is no file by default:
    /// what a server does should not depend on where it was started.
    pub file: Option<PathBuf>,
    /// The environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Flags that were given, by [`OptionSpec::path`].
    pub flags: HashMap<String, String>,
}

impl Sources {
    /// The configuration file, if there is one.
    pub fn config_file(&self) -> Option<PathBuf> {
        let named = self.variables.iter().find(|(name, _)| name == environment::CONFIG_FILE);
        self.file.clone().or_else(|| named.map(|(_, path)| path.into()).filter(|path: &PathBuf| path != ""))
    }
}

/// A configuration that satisfies every rule, and where each value came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    sources: HashMap<&'static str, Source>,
}

impl Loaded {
    /// Where the value of an option came from.
    pub fn source_of(&self, option: &OptionSpec) -> Source {
        self.sources.get(option.path.as_str()).cloned().unwrap_or_default()
    }
}

/// A configuration while it is put together.
#[derive(Debug, Default)]
pub struct Draft {
    config: Config,
    sources: HashMap<&'static str, Source>,
    /// What was wrong so far.
    pub problems: Vec<Problem>,
}

impl Draft {
    /// Gives an option a value, or notes why it cannot have it.
    pub fn set(&mut self, option: &'static OptionSpec, input: Input<'_>, at: Source) {
        match self.config.set_option(option, input) {
            Ok(()) => {
                self.sources.insert(&option.path, at);
            }
            Err(_) => self.problems.push(mismatch::explain(option, input, at)),
        }
    }
}

/// Reads every source and checks the rules between options.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    let mut draft = Draft::default();
    if let Some(path) = sources.config_file() {
        file::read(&path, &mut draft);
    }
    merge(sources, draft)
}

/// Lays variables and flags, in this order, over what the file said.
fn merge(sources: &Sources, mut draft: Draft) -> Result<Loaded, Error> {
    environment::read(&sources.variables, &mut draft);
    for option in table::options() {
        if let Some(word) = sources.flags.get(&option.path) {
            draft.set(option, Input::Word(word), Source::Flag(option.flag.clone()));
        }
    }
    finish(draft)
}

fn finish(mut draft: Draft) -> Result<Loaded, Error> {
    // A value that could not be read left its default behind; rules would then speak of what nobody wrote.
    if draft.problems.is_empty() {
        draft.problems = rules::check(&draft.config);
    }
    match draft.problems.is_empty() {
        true => Ok(Loaded { config: draft.config, sources: draft.sources }),
        false => Err(Error { problems: draft.problems }),
    }
}

#[cfg(test)]
mod tests;
