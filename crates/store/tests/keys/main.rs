//! The keys on disk, as the server uses them: real files in a directory of their own, and crashes.

mod crash;
mod damage;
mod fixture;
mod model;
mod round_trip;
mod scene;
