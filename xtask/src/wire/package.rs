//! The Python package of `python`: installed as its users do, into the environment of the suite; checked and tested.

use anyhow::Result;

use super::{python, server};
use crate::pipeline::Tally;
use crate::process;
use crate::workspace::Workspace;

/// Runs all of its tests, or what the arguments select.
pub fn run(workspace: &Workspace, pytest_args: &[String]) -> Result<Tally> {
    let folder = workspace.path("python");
    let module = |args: &[&str]| {
        let mut command = python::prepare(workspace, "wire")?;
        command.arg("-m").args(args).current_dir(&folder).env("PYTHONDONTWRITEBYTECODE", "1");
        anyhow::Ok(command)
    };
    // Its dependencies are among the pinned ones. The same version is installed again, since its files may differ.
    let install =
        ["pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps", "."];
    process::run(&mut module(&install)?)?;
    process::run(&mut module(&["ruff", "format", "--quiet", "--check", "--no-cache"])?)?;
    process::run(&mut module(&["ruff", "check", "--quiet", "--no-cache"])?)?;
    process::run(&mut module(&["mypy", "--no-error-summary", "--cache-dir=/dev/null"])?)?;
    server::build(workspace)?;
    let mut pytest = module(&["pytest", "-p", "no:cacheprovider"])?;
    pytest.args(pytest_args).env("TIDEGATE_BIN", server::binary(workspace));
    Tally::of(&mut pytest)
}
