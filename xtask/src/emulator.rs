//! The DynamoDB emulator that tests and benchmarks run on: installed once, below the target directory.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::Workspace;

/// The program's package, and the version that the tests were written against.
const PACKAGE: &str = "dynoxide-rs";
const VERSION: &str = "3.2.0";

/// The parts of it that a server in memory needs; the others would triple its build.
const FEATURES: &str = "native-sqlite,http-server,cli";

/// How it is built: its own profile asks for what takes twice as long, to be small.
const PROFILE: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

/// Installs the emulator unless that version is there. Some minutes, once; then nothing.
pub fn install(workspace: &Workspace) -> Result<()> {
    let root = workspace.target_dir().join("tools");
    // Cargo notes there what it has installed. The program itself tells another version.
    let installed = fs::read_to_string(root.join(".crates.toml")).unwrap_or_default();
    if installed.contains(&format!("\"{PACKAGE} {VERSION} (")) && root.join("bin/dynoxide").is_file() {
        return Ok(());
    }
    println!("installing {PACKAGE} {VERSION}");
    let mut command =
        process::cargo(workspace, &["install", PACKAGE, "--version", VERSION, "--locked", "--quiet"]);
    command.args(["--no-default-features", "--features", FEATURES, "--root"]).arg(&root);
    // Its build goes to a folder that cargo takes away after it.
    command.env_remove("CARGO_TARGET_DIR").envs(PROFILE);
    process::run(&mut command).context("the tests on DynamoDB need its emulator")
}

/// Builds the program that starts the emulator and a faulting proxy before it, for tests that are not in Rust.
pub fn build_program(workspace: &Workspace) -> Result<PathBuf> {
    install(workspace)?;
    process::run(&mut process::cargo(workspace, &["build", "--package", "tidegate-emulator"]))?;
    Ok(workspace.target_dir().join("debug/tidegate-emulator"))
}
