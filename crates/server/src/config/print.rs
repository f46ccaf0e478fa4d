//! The effective configuration, written out.
//!
//! What is printed as TOML can be saved and loaded again: it gives the same configuration, except for a secret,
//! which is left as a comment.

use serde_json::{Map, Value};

use super::load::Loaded;
use super::secret::HIDDEN;
use super::table::{self, OptionSpec};

/// As TOML, with a comment on each option: what it does, and where its value came from.
pub fn toml(loaded: &Loaded) -> String {
    let mut out = String::new();
    for section in table::sections() {
        if !section.name.is_empty() {
            out += &format!("# {}\n[{}]\n\n", section.help, section.name);
        }
        for option in table::options().iter().filter(|option| option.section == section.name) {
            out += &format!("# {}\n{}\n\n", option.help, toml_line(option, loaded));
        }
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

fn toml_line(option: &OptionSpec, loaded: &Loaded) -> String {
    let OptionSpec { name, .. } = option;
    let source = loaded.source_of(option);
    match loaded.config.value_of(option) {
        None => format!("# {name} =  # unset"),
        // A saved print-out must not set the token to what stands for it.
        Some(value) if is_hidden(&value) => format!("# {name} = {value}  # {source}"),
        Some(value) => format!("{name} = {value}  # {source}"),
    }
}

fn is_hidden(value: &toml::Value) -> bool {
    value.as_str() == Some(HIDDEN)
}

/// As JSON: the values only, by section and name; what is unset is `null`.
pub fn json(loaded: &Loaded) -> String {
    let mut document = Map::new();
    for option in table::options() {
        let value = loaded.config.value_of(option).map_or(Value::Null, json_value);
        match option.section {
            "" => document.insert(option.name.to_owned(), value),
            section => {
                let table = document.entry(section).or_insert_with(|| Value::Object(Map::new()));
                table.as_object_mut().and_then(|table| table.insert(option.name.to_owned(), value))
            }
        };
    }
    format!("{:#}\n", Value::Object(document))
}

fn json_value(value: toml::Value) -> Value {
    match value {
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Integer(value) => value.into(),
        toml::Value::String(value) => value.into(),
        other => other.to_string().into(),
    }
}

/// What is not at its default, one line each: the value and where it came from.
pub fn summary(loaded: &Loaded) -> String {
    let set = |option: &&OptionSpec| loaded.source_of(option) != super::Source::Default;
    let set: Vec<_> = table::options().iter().filter(set).collect();
    let mut out = format!("ok: {} set, {} at the default\n", set.len(), table::options().len() - set.len());
    for option in set {
        let value = loaded.config.value_of(option).map(|value| value.to_string()).unwrap_or_default();
        out += &format!("  {} = {value}  ({})\n", option.path, loaded.source_of(option));
    }
    out
}
