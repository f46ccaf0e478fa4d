//! The reference page, written out. It is committed as `docs/reference/config.md`, and a test keeps it current.

use super::table::{self, OptionSpec, SectionSpec};

const HEAD: &str = "\
# Configuration

<!-- Written by `tidegate config reference`. To change it, change the declarations and run
     `UPDATE_EXPECT=1 cargo test -p tidegate reference`. -->

Tidegate needs no configuration. To change something, use a flag, a variable or a TOML file; a flag wins over a
variable, a variable over the file, and the file over the default.

```sh
tidegate serve --http 0.0.0.0:8080
TIDEGATE_HTTP_ADDRESS=0.0.0.0:8080 tidegate serve
tidegate serve --config tidegate.toml
```

```toml
# tidegate.toml
[http]
address = \"0.0.0.0:8080\"
```

`TIDEGATE_CONFIG` names the file as `--config` does. A key or variable that is not listed here is an error, so a
typing mistake does not go unnoticed. `tidegate config check` says whether a configuration is good, and `tidegate
config print` shows every option with its value and where that came from.
";

/// The page, as Markdown.
pub fn markdown() -> String {
    let sections = table::sections();
    let sections = sections.iter().map(section);
    HEAD.to_owned() + &sections.collect::<String>()
}

fn section(section: &SectionSpec) -> String {
    let title =
        if section.name.is_empty() { "Top level".to_owned() } else { format!("`[{}]`", section.name) };
    let options = table::options().iter().filter(|option| option.section == section.name);
    format!("\n## {title}\n\n{}\n", section.help) + &options.map(entry).collect::<String>()
}

fn entry(option: &OptionSpec) -> String {
    let OptionSpec { path, env, flag, help, kind, default, .. } = option;
    let default = default.as_ref().map_or("unset".to_owned(), |value| format!("`{value}`"));
    format!("\n### `{path}`\n\n{help}\n\n- takes {kind}; default {default}\n- `--{flag}`, `{env}`\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_reference_is_current() {
        expect_test::expect_file!["../../../../docs/reference/config.md"].assert_eq(&markdown());
    }
}
