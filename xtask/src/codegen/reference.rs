//! Reference pages that the server itself prints, so that the docs cannot drift from the options.

use anyhow::Result;

use super::artefact::Artefact;
use crate::process;
use crate::workspace::Workspace;

/// A page of `docs/reference` and the arguments that make `tidegate` print it.
struct Page {
    name: &'static str,
    args: &'static [&'static str],
}

const PAGES: &[Page] = &[Page { name: "config.md", args: &["config", "reference"] }];

/// Every page, as the server of this checkout prints it.
pub fn produce(workspace: &Workspace) -> Result<Vec<Artefact>> {
    PAGES.iter().map(|page| print(workspace, page)).collect()
}

fn print(workspace: &Workspace, page: &Page) -> Result<Artefact> {
    let mut command =
        process::cargo(workspace, &["run", "--quiet", "--release", "--package", "tidegate", "--"]);
    let content = process::stdout_of(command.args(page.args))?;
    Ok(Artefact { name: page.name.into(), content })
}
