//! Telling why a value does not fit its option, and what would.

use super::Config;
use super::error::Problem;
use super::nearest::nearest;
use super::source::Source;
use super::table::OptionSpec;
use super::value::{Input, Kind};

/// The problem with `input`, which `option` did not take.
pub fn explain(option: &'static OptionSpec, input: Input<'_>, at: Source) -> Problem {
    Problem::BadValue {
        at,
        path: &option.path,
        value: shown(option, input),
        expected: option.kind,
        hint: hint(option, input),
    }
}

fn shown(option: &OptionSpec, input: Input<'_>) -> String {
    match input {
        _ if option.kind == Kind::Secret => "what it was set to (not shown)".to_owned(),
        Input::Word(text) | Input::String(text) => format!("{text:?}"),
        Input::Integer(number) => number.to_string(),
        Input::Boolean(value) => value.to_string(),
        Input::Strings(texts) => format!("{texts:?}"),
        Input::Other(text) => text.to_owned(),
    }
}

fn hint(option: &OptionSpec, input: Input<'_>) -> String {
    match (option.kind, input) {
        (Kind::Secret, _) => "`openssl rand -hex 32` makes a good token".to_owned(),
        (Kind::Choice(words), Input::Word(text) | Input::String(text)) => {
            nearest(text, words.iter().copied())
                .map_or(default(option), |word| format!("did you mean {word}?"))
        }
        (_, Input::String(text)) if Config::default().set_option(option, Input::Word(text)).is_ok() => {
            format!("write it without quotes: {} = {text}", option.name)
        }
        _ => default(option),
    }
}

fn default(option: &OptionSpec) -> String {
    match &option.default {
        Some(value) => format!("leave it out to keep the default, {value}"),
        None => "leave it out to keep it unset".to_owned(),
    }
}
