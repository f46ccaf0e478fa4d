//! The loads that a broker is put under.

pub mod cost;
pub mod fill;
pub mod life;
pub mod paced;
mod window;

pub use cost::Cost;
pub use fill::Fill;
pub use life::Life;
pub use paced::Paced;
