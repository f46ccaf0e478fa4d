//! Programs that the suite needs from the system: installed when we may, else named with the way to get them.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Something from the system's package manager.
pub struct SystemPackage {
    /// What must be there afterwards.
    is_present: fn() -> bool,
    /// What Debian calls it.
    debian_names: &'static [&'static str],
    /// How to get it by hand.
    hint: &'static str,
}

/// `redis-cli` and `redis-benchmark`, two of the clients under test.
pub const REDIS_TOOLS: SystemPackage = SystemPackage {
    is_present: || process::answers("redis-cli") && process::answers("redis-benchmark"),
    debian_names: &["redis-tools"],
    hint: "install redis-cli and redis-benchmark (Debian: `apt-get install redis-tools`, macOS: `brew install redis`)",
};

/// What runs node-redis and ioredis.
pub const NODE: SystemPackage = SystemPackage {
    is_present: || process::answers("node") && process::answers("npm"),
    debian_names: &["nodejs", "npm"],
    hint: "install Node.js 18 or newer with npm (https://nodejs.org)",
};

/// What runs the suite itself. Debian splits the venv module off.
pub const PYTHON: SystemPackage = SystemPackage {
    is_present: || {
        Command::new("python3")
            .args(["-c", "import venv, ensurepip"])
            .output()
            .is_ok_and(|output| output.status.success())
    },
    debian_names: &["python3", "python3-venv"],
    hint: "install Python 3.10 or newer with its venv module (Debian: `apt-get install python3-venv`)",
};

/// Present, or installed now, or an error that says how.
pub fn require(package: &SystemPackage) -> Result<()> {
    if (package.is_present)() {
        return Ok(());
    }
    if !(process::answers("apt-get") && is_root()) {
        bail!("{} are missing\nhint: {}", package.debian_names.join(" and "), package.hint);
    }
    println!("installing {}", package.debian_names.join(" "));
    apt_get(&["update"])?;
    apt_get(
        &["install", "--yes", "--no-install-recommends"]
            .iter()
            .chain(package.debian_names)
            .copied()
            .collect::<Vec<_>>(),
    )
    .context(package.hint)?;
    if !(package.is_present)() {
        bail!("{} did not help\nhint: {}", package.debian_names.join(" and "), package.hint);
    }
    Ok(())
}

fn apt_get(args: &[&str]) -> Result<()> {
    process::run(
        Command::new("apt-get")
            .args(["--quiet", "--quiet"])
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

fn is_root() -> bool {
    process::stdout_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim_ascii() == b"0")
}
