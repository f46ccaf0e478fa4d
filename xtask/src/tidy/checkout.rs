//! What the rules look at: the text files of the checkout, the crate graph and the deny file, all read once.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::code;
use super::crates::Crates;
use super::deny::Deny;
use crate::workspace::Workspace;

/// Folders that hold nothing we wrote.
const SKIPPED_FOLDERS: &[&str] =
    &["target", ".git", "node_modules", "tidegate-data", "__pycache__", ".pytest_cache", ".venv"];

/// Everything a rule may look at.
pub struct Checkout {
    /// Every file that is text, ordered by path.
    pub files: Vec<TextFile>,
    /// The crates of the workspace and all that they use.
    pub crates: Crates,
    /// What `deny.toml` allows.
    pub deny: Deny,
}

/// A file of the checkout.
pub struct TextFile {
    /// From the root of the workspace, with forward slashes.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Checkout {
    /// Reads the checkout and asks cargo for the crate graph.
    pub fn load(workspace: &Workspace) -> Result<Self> {
        let mut files = Vec::new();
        collect(&workspace.root, "", &mut files)?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self { files, crates: Crates::load(workspace)?, deny: Deny::load(workspace)? })
    }

    /// The Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Whether the checkout has that file or folder.
    pub fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        self.files.iter().any(|file| file.path == path || file.path.starts_with(&inside))
    }
}

impl TextFile {
    /// The file's lines without comments and string contents, numbered from 1.
    pub fn code_lines(&self) -> Vec<(usize, String)> {
        let code = code::without_comments_and_strings(&self.text);
        code.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned())).collect()
    }

    /// The file's own name.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Written by `cargo xtask codegen`.
    pub fn is_generated(&self) -> bool {
        self.path.contains("/generated/")
    }
}

fn collect(folder: &Path, relative: &str, files: &mut Vec<TextFile>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if relative.is_empty() { name.clone() } else { format!("{relative}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                collect(&entry.path(), &path, files)?;
            }
        } else if !kind.is_file() {
            // A link's target is looked at where it lies.
        } else if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
            files.push(TextFile { path, text });
        }
    }
    Ok(())
}
