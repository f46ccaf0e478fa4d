//! Running other programs: output goes straight to the developer, and a failure names the command.

use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// A `cargo` of the same toolchain that runs us, at the root of the workspace. What the one that runs us says of this
/// package is not for others: a build script that looks at it would run again, here and when users build next.
pub fn cargo(workspace: &Workspace, args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(&workspace.root);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| is_about_us(name)) {
        command.env_remove(name);
    }
    command
}

/// Whether `cargo run` sets a variable to tell a program about its own package.
fn is_about_us(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs to the end; anything but success is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    succeeded(command, status)
}

/// An error that names the command, unless it ended well.
pub fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs to the end and returns what it wrote to stdout.
pub fn stdout_of(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}\n{stderr}", line(command), output.status);
    }
    Ok(output.stdout)
}

/// Whether a program of that name is on the PATH and answers.
pub fn answers(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The command as one would type it, without the path to the program.
fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    format!("`{}`", std::iter::once(name).chain(args).collect::<Vec<_>>().join(" "))
}
