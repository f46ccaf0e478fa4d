//! How long a test waits for what should come at once, before it fails.

use std::time::Duration;

/// Long enough for a machine with more to do than it has cores.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks at something that cannot tell when it changes.
pub const PAUSE: Duration = Duration::from_millis(5);
