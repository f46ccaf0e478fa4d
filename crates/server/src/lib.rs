//! The Tidegate server: configuration, the command line, the doors and what is behind them.
//!
//! The binary is one call into [`cli::run`]; everything else lives here, so that unit tests and links between
//! docs reach it.

pub mod api;
pub mod cli;
pub mod config;
pub mod logs;
pub mod serve;
pub mod transport;
