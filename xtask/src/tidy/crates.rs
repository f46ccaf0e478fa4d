//! The crate graph as the rules need it, read from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

use crate::process;
use crate::workspace::Workspace;

/// All packages that the workspace is built from, on the platform at hand.
pub struct Crates {
    /// Every package, workspace members included.
    pub packages: Vec<Package>,
}

/// One package.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// Its name on the registry.
    pub name: String,
    /// Its SPDX expression.
    pub licence: Option<String>,
    /// Where it comes from; nothing for a package of this workspace.
    pub source: Option<String>,
    /// Whether this workspace holds it.
    pub is_member: bool,
    /// Its manifest, from the root of the workspace; members only.
    pub manifest: String,
    /// What it is built with, tests and build scripts included.
    pub uses: BTreeSet<String>,
    /// What ends up in the library itself.
    pub links: BTreeSet<String>,
}

impl Crates {
    /// Asks cargo. Only the host's packages are needed, so that a machine which has built once can check offline.
    pub fn load(workspace: &Workspace) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(workspace.path("Cargo.toml"))
            .other_options(["--filter-platform".to_owned(), host()?])
            .exec()?;
        Self::from_metadata(&metadata)
    }

    fn from_metadata(metadata: &Metadata) -> Result<Self> {
        let graph = metadata.resolve.as_ref().context("cargo metadata came without a graph")?;
        let names: BTreeMap<&PackageId, String> =
            metadata.packages.iter().map(|package| (&package.id, package.name.to_string())).collect();
        let mut packages = Vec::new();
        for node in &graph.nodes {
            let package = &metadata[&node.id];
            let named = |only_links: bool| {
                let kept = node.deps.iter().filter(move |dependency| {
                    !only_links || dependency.dep_kinds.iter().any(|info| info.kind == DependencyKind::Normal)
                });
                kept.filter_map(|dependency| names.get(&dependency.pkg).cloned()).collect()
            };
            let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root);
            packages.push(Package {
                name: package.name.to_string(),
                licence: package.license.clone(),
                source: package.source.as_ref().map(|source| source.repr.clone()),
                is_member: metadata.workspace_members.contains(&node.id),
                manifest: manifest.map(|path| path.to_string()).unwrap_or_default(),
                uses: named(false),
                links: named(true),
            });
        }
        Ok(Self { packages })
    }

    /// The packages of this workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.is_member)
    }

    /// Everything that a package links, near and far.
    pub fn linked_by(&self, name: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            let packages = self.packages.iter().filter(|package| package.name == next);
            for link in packages.flat_map(|package| &package.links) {
                if reached.insert(link.clone()) {
                    open.push(link.clone());
                }
            }
        }
        reached
    }
}

/// The platform that rustc builds for by itself.
fn host() -> Result<String> {
    let version = process::stdout_of(std::process::Command::new("rustc").arg("-vV"))?;
    let version = String::from_utf8(version)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}
