//! Every example of the workspace runs to its end. Those of the client get the address of a server.

use std::process::Command;

use anyhow::Result;
use cargo_metadata::{MetadataCommand, TargetKind};

use crate::process;
use crate::wire::RunningServer;
use crate::workspace::Workspace;

/// The package whose examples take the address of a server.
const CLIENT: &str = "tidegate-client";

/// Builds all examples with the features of the test build, so that nothing is compiled twice, and runs them.
pub fn run(workspace: &Workspace) -> Result<()> {
    process::run(&mut process::cargo(workspace, &["build", "--workspace", "--all-features", "--examples"]))?;
    // A build leaves gigabytes on their way to the disk, and whoever waits for a sync after it waits for all of them.
    process::run(&mut Command::new("sync"))?;
    let server = RunningServer::start(workspace)?;
    let metadata = MetadataCommand::new().manifest_path(workspace.path("Cargo.toml")).no_deps().exec()?;
    for package in metadata.workspace_packages() {
        let address = (package.name == CLIENT).then_some(&server.resp_address);
        let targets = package.targets.iter().filter(|target| target.kind.contains(&TargetKind::Example));
        for target in targets {
            println!("example {} of {}", target.name, package.name);
            let program = workspace.target_dir().join("debug/examples").join(&target.name);
            process::run(Command::new(program).args(address).current_dir(&workspace.root))?;
        }
    }
    Ok(())
}
