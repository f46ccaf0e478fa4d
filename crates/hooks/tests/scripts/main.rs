//! Scripts in a sandbox: what they see, what they decide, and what they cannot do.

mod bounds;
mod guarded;
mod isolation;
mod library;
mod patterns;
mod scene;
mod verdicts;
