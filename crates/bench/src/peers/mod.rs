//! The servers that are measured: found or installed, started on free loopback ports, and ended with us.

pub mod install;
pub mod process;
pub mod redis;
pub mod throttlecrab;
pub mod tidegate;

pub use process::Process;
pub use redis::Redis;
pub use throttlecrab::Throttlecrab;
pub use tidegate::Tidegate;
