//! The `tidegate` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidegate::cli::run()
}
