//! The clients: what they do with the entities, and what they saw.

mod cycles;
mod grpc;
mod steady;
mod touches;

pub use cycles::Cycles;
pub use grpc::GrpcCycles;
pub use steady::Steady;
pub use touches::touch;
