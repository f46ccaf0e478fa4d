//! The clients: what they do with the entities, and what they saw.

mod bare;
mod cycles;
mod grpc;
mod steady;
mod touches;

pub use bare::{THREAD as BARE_THREAD, listen as listen_bare};
pub use cycles::Cycles;
pub use grpc::GrpcCycles;
pub use steady::{Seen, Steady};
pub use touches::touch;
