//! Who is measured, as the table names them.

/// The cheapest thing that Redis can be asked to count.
pub const REDIS_INCR: &str = "redis-server INCR";
/// What people build in Redis today.
pub const REDIS_LUA: &str = "redis-server Lua bucket";
/// The server that the Ask door replaces.
pub const THROTTLECRAB: &str = "throttlecrab-server";
/// What the machine itself takes: a thread that decides nothing, and answers.
pub const ANSWER: &str = "a thread that answers";
/// Tidegate under its own command.
pub const TIDEGATE: &str = "tidegate";
/// Tidegate under redis-cell's command.
pub const TIDEGATE_CELL: &str = "tidegate CL.THROTTLE";
/// Tidegate inside a Rust program.
pub const TIDEGATE_LIMITER: &str = "tidegate-limiter";
/// The bucket alone, without a name, lock or clock.
pub const TIDEGATE_CORE: &str = "tidegate-core";
/// The usual Rust library, with its keyed limiter on DashMap.
pub const GOVERNOR: &str = "governor 0.10";
/// The library under throttlecrab-server, with its periodic store.
pub const THROTTLECRAB_LIBRARY: &str = "throttlecrab 0.4";
