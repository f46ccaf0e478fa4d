//! Who is measured.

/// How many nodes share the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// One.
    One,
    /// Three.
    Three,
}

impl Nodes {
    /// Both.
    pub const ALL: [Nodes; 2] = [Nodes::One, Nodes::Three];

    /// As the table names them.
    pub fn name(self) -> &'static str {
        match self {
            Nodes::One => "tidegate, 1 node",
            Nodes::Three => "tidegate, 3 nodes",
        }
    }

    /// How many.
    pub fn count(self) -> usize {
        match self {
            Nodes::One => 1,
            Nodes::Three => 3,
        }
    }
}

/// The Python library.
pub const PYTHON: &str = "zae-limiter 0.17.0";
/// The emulator by itself.
pub const EMULATOR: &str = "dynoxide";
