//! Reading `TIDEGATE_*` variables.
//!
//! An unknown one is an error, since a typing mistake in a variable is otherwise silent. Two kinds are passed over:
//! names that the tools around the server use, and the names that Kubernetes puts into every container when a
//! service is called `tidegate` or `tidegate-something`.

use std::ffi::{OsStr, OsString};

use super::error::Problem;
use super::load::Draft;
use super::nearest::nearest;
use super::source::Source;
use super::table::{self, ENV_PREFIX};
use super::value::Input;

/// The variable that names the configuration file.
pub const CONFIG_FILE: &str = "TIDEGATE_CONFIG";

/// Variables that are not options: the file's path, and the binary under test.
const NOT_OPTIONS: [&str; 2] = [CONFIG_FILE, "TIDEGATE_BIN"];

/// Sets every option that has a variable.
pub fn read(variables: &[(OsString, OsString)], draft: &mut Draft) {
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(ENV_PREFIX)) else { continue };
        if NOT_OPTIONS.contains(&name) || is_service_link(name, value) {
            continue;
        }
        match value.to_str() {
            Some(value) => read_one(name, value, draft),
            None => draft.problems.push(Problem::NotText { name: name.to_owned() }),
        }
    }
}

fn read_one(name: &str, value: &str, draft: &mut Draft) {
    match table::options().iter().find(|option| option.env == name) {
        Some(option) => draft.set(option, Input::Word(value), Source::Env(name.to_owned())),
        None => {
            // The prefix that all of them share would make any two look alike.
            let known = table::options().iter().filter_map(|option| option.env.strip_prefix(ENV_PREFIX));
            let nearest = nearest(&name[ENV_PREFIX.len()..], known).map(|rest| format!("{ENV_PREFIX}{rest}"));
            draft.problems.push(Problem::UnknownVariable { name: name.to_owned(), nearest });
        }
    }
}

/// Whether Kubernetes (or Docker's `--link`) made this variable: `TIDEGATE_SERVICE_HOST`,
/// `TIDEGATE_PORT=tcp://10.0.0.1:8080`, `TIDEGATE_PORT_8080_TCP_ADDR`.
fn is_service_link(name: &str, value: &OsStr) -> bool {
    let numbered_port = |(_, after): (&str, &str)| after.starts_with(|c: char| c.is_ascii_digit());
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.ends_with("_PORT") && value.to_string_lossy().contains("://"))
        || name.split_once("_PORT_").is_some_and(numbered_port)
}
