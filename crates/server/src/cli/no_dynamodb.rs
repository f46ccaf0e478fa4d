//! `tidegate dynamodb` of a binary that was built without it.

use super::Failure;
use crate::config;

/// Make, look at and delete the DynamoDB table that servers share (not in this binary).
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}

/// Says that it is not there.
pub fn run(_: Args) -> Result<(), Failure> {
    Err(Failure::Config(config::Error { problems: vec![config::without_dynamodb()] }))
}
