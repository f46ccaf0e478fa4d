//! One flag per option, made from the option table, and `--config`.
//!
//! Values stay text here: they are read where the file and the variables are, so that a mistake reads the same
//! whichever way it came in.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, FromArgMatches, ValueHint, value_parser};

use crate::config::table::{self, OptionSpec, SectionSpec};
use crate::config::value::Kind;
use crate::config::{self, Loaded, Sources};

const CONFIG: &str = "config";

/// The flags that were given.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    file: Option<PathBuf>,
    options: HashMap<String, String>,
}

impl Flags {
    /// Loads the configuration out of these flags, this process's environment and the file they name.
    pub fn load(self) -> Result<Loaded, config::Error> {
        config::load(&Sources {
            file: self.file,
            variables: std::env::vars_os().collect(),
            flags: self.options,
        })
    }
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        let sections = table::sections();
        let args = sections.iter().flat_map(|section| {
            let options = table::options().iter().filter(|option| option.section == section.name);
            options.map(|option| under(section, arg(option)))
        });
        command.arg(config_arg()).args(args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Flags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.file = matches.get_one::<PathBuf>(CONFIG).cloned().or(self.file.take());
        for option in table::options() {
            if let Some(value) = matches.get_one::<String>(&option.path) {
                self.options.insert(option.path.clone(), value.clone());
            }
        }
        Ok(())
    }
}

fn config_arg() -> Arg {
    Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath)
        .help("The configuration file, in TOML [env: TIDEGATE_CONFIG]")
}

/// Gathers the flags of a section under its name in `--help`.
fn under(section: &SectionSpec, arg: Arg) -> Arg {
    match section.name {
        "" => arg,
        name => arg.help_heading(format!("[{name}] {}", section.help.trim_end_matches('.'))),
    }
}

fn arg(option: &OptionSpec) -> Arg {
    let long = option.path.replace(['.', '_'], "-");
    let arg = Arg::new(option.path.clone())
        .long(option.flag.clone())
        .help(short_help(option))
        .long_help(long_help(option))
        .hide_short_help(!is_common(option));
    // `--http` is the short way to say it; who goes by the rule and says `--http-address` is right too.
    let arg = if long == option.flag { arg } else { arg.alias(long) };
    match option.kind {
        Kind::Boolean => arg.value_name("BOOL").value_parser(PossibleValuesParser::new(["true", "false"])),
        Kind::Choice(words) => arg.value_name("WORD").value_parser(PossibleValuesParser::new(words)),
        // So that -1 is told to be out of bounds, not to be an unknown flag.
        Kind::Whole(_) => arg.value_name("N").allow_negative_numbers(true),
        Kind::Address => arg.value_name("ADDR"),
        Kind::Directory => arg.value_name("DIR").value_hint(ValueHint::DirPath),
        Kind::Text => arg.value_name("TEXT"),
        Kind::Terms => arg.value_name("LIMITS"),
        Kind::Secret => arg.value_name("TOKEN"),
    }
}

/// Whether an option is among the few that `-h` shows; `--help` shows them all.
fn is_common(option: &OptionSpec) -> bool {
    option.section.is_empty() || option.kind == Kind::Address
}

/// For `-h`: the first sentence and the default.
fn short_help(option: &OptionSpec) -> String {
    let sentence = option.help.split(". ").next().unwrap_or_default();
    format!("{}{}", sentence.trim_end_matches('.'), default(option))
}

/// For `--help`: everything, with the variable.
fn long_help(option: &OptionSpec) -> String {
    format!("{}{} [env: {}]", option.help, default(option), option.env)
}

fn default(option: &OptionSpec) -> String {
    match &option.default {
        None => String::new(),
        Some(toml::Value::String(text)) if text.is_empty() => String::new(),
        Some(toml::Value::String(text)) => format!(" [default: {text}]"),
        Some(value) => format!(" [default: {value}]"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }

    #[test]
    fn every_option_has_its_flag() {
        for option in table::options() {
            let word = match &option.default {
                Some(toml::Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => "1".to_owned(),
            };
            let line = Line::parse_from(["tidegate".to_owned(), format!("--{}", option.flag), word.clone()]);
            assert_eq!(line.flags.options, HashMap::from([(option.path.clone(), word)]));
        }
    }

    #[test]
    fn the_file_and_the_long_way_to_an_address() {
        let line = Line::parse_from(["tidegate", "--config", "a.toml", "--resp-address", "localhost:1"]);
        assert_eq!(line.flags.file, Some("a.toml".into()));
        assert_eq!(line.flags.options["resp.address"], "localhost:1");
    }
}
