//! `tidegate completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Failure, Root, stdout};

const EXAMPLES: &str = "\
Examples:
  tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate
  tidegate completions fish > ~/.config/fish/completions/tidegate.fish
";

/// Print the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell to complete in.
    shell: Shell,
}

/// Writes the script to stdout.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Root::command(), "tidegate", &mut script);
    stdout::write(&String::from_utf8_lossy(&script))
}
