//! The journal as an engine uses it, on a disk that crashes, fills up and rots.

mod clean;
mod crash;
mod damage;
mod fixture;
mod full;
mod life;
mod read;
mod recycle;
mod scene;
mod torn;
