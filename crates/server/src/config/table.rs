//! Every option as data: what flags, variables, print-outs and the reference page are made from.

use std::sync::LazyLock;

use super::Config;
use super::define::{Row, Section};
use super::value::{Input, Kind, Mismatch};

/// One option, under every name it has.
#[derive(Clone, Debug)]
pub struct OptionSpec {
    /// The table of the file it is in; empty at the top level.
    pub section: &'static str,
    /// The name inside its section.
    pub name: &'static str,
    /// The key in the file: `resp.max_connections`.
    pub path: String,
    /// The variable: `TIDEGATE_RESP_MAX_CONNECTIONS`.
    pub env: String,
    /// The flag, without its dashes: `resp-max-connections`.
    pub flag: String,
    /// What it does.
    pub help: String,
    /// What it can be.
    pub kind: Kind,
    /// Its value when nobody sets it; `None` if it stays unset.
    pub default: Option<toml::Value>,
}

/// A section of the file.
#[derive(Clone, Debug)]
pub struct SectionSpec {
    /// The name of its table; empty for the top level.
    pub name: &'static str,
    /// What its options are about.
    pub help: String,
}

/// What every variable begins with.
pub const ENV_PREFIX: &str = "TIDEGATE_";

static OPTIONS: LazyLock<Vec<OptionSpec>> = LazyLock::new(|| {
    let top = Config::rows().into_iter().map(|row| spec("", row));
    let nested = Config::nested().into_iter().flat_map(|section| {
        let name = section.name;
        section.rows.into_iter().map(move |row| spec(name, row))
    });
    top.chain(nested).collect()
});

/// Every option, in the order of declaration.
pub fn options() -> &'static [OptionSpec] {
    &OPTIONS
}

/// Every section, in the order of declaration; the top level is first.
pub fn sections() -> Vec<SectionSpec> {
    let top = SectionSpec { name: "", help: "The server as a whole.".to_owned() };
    let nested = Config::nested();
    let nested = nested.iter().map(|section| SectionSpec { name: section.name, help: prose(section.doc) });
    std::iter::once(top).chain(nested).collect()
}

fn spec(section: &'static str, row: Row) -> OptionSpec {
    let Row { name, doc, kind } = row;
    let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
    let flag = match name {
        // The option of a door that people type most has the shortest flag: `--http`.
        "address" => section.to_owned(),
        _ => path.replace(['.', '_'], "-"),
    };
    let mut spec = OptionSpec {
        section,
        name,
        env: format!("{ENV_PREFIX}{}", path.replace('.', "_").to_uppercase()),
        path,
        flag,
        help: prose(doc),
        kind,
        default: None,
    };
    spec.default = Config::default().value_of(&spec);
    spec
}

/// A doc comment as one line of text.
fn prose(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Config {
    /// The value of an option as a file would say it; `None` if it is unset.
    pub fn value_of(&self, option: &OptionSpec) -> Option<toml::Value> {
        match option.section {
            "" => self.get(option.name),
            section => self.section(section).and_then(|section| section.get(option.name)),
        }
    }

    /// Gives an option a value.
    pub fn set_option(&mut self, option: &OptionSpec, input: Input<'_>) -> Result<(), Mismatch> {
        match option.section {
            "" => self.set(option.name, input),
            section => self.section_mut(section).ok_or(Mismatch)?.set(option.name, input),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_option_has_help_that_ends_as_a_sentence() {
        for option in options() {
            assert!(option.help.len() > 20, "{}: {:?}", option.path, option.help);
            assert!(option.help.ends_with('.'), "{}: {:?}", option.path, option.help);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for OptionSpec { path, env, flag, .. } in options() {
            for name in [path.clone(), env.clone(), format!("--{flag}")] {
                assert!(seen.insert(name.clone()), "{name} twice");
            }
        }
    }

    #[test]
    fn defaults_are_within_their_own_bounds() {
        let mut config = Config::default();
        for option in options() {
            let Some(default) = &option.default else { continue };
            let word = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            assert_eq!(config.set_option(option, Input::Word(&word)), Ok(()), "{}", option.path);
        }
        assert_eq!(config, Config::default());
    }

    #[test]
    fn one_option_under_every_name() {
        let option = options().iter().find(|option| option.path == "resp.max_connections").unwrap();
        assert_eq!(option.env, "TIDEGATE_RESP_MAX_CONNECTIONS");
        assert_eq!(option.flag, "resp-max-connections");
        let address = options().iter().find(|option| option.path == "http.address").unwrap();
        assert_eq!(address.flag, "http");
    }
}
