//! Nodes on one table: an emulator, and a proxy before it that fails as told.

mod caps;
mod draw;
mod fault;
mod fill;
mod hand_over;
mod item;
mod peers;
mod race;
mod shards;
mod together;
mod world;
