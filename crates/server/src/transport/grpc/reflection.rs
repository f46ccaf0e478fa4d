//! Reflection: a client that has no .proto file asks for it here.

use http::Request;
use hyper::body::Incoming;
use tonic::codegen::Service;
use tonic_reflection::server::Builder;

use super::services::Calling;

/// Every message and service, out of `proto/`.
pub const DESCRIPTOR: &[u8] = include_bytes!("generated/descriptor.bin");

/// tonic keeps the types of its reflection services to itself, hence the boxes; nobody reflects in a hurry.
type Server = Box<dyn Fn(Request<Incoming>) -> Calling>;

/// Both versions of the reflection service.
pub struct Reflection {
    v1: Server,
    v1alpha: Server,
}

impl Reflection {
    /// Reflects this server's own services and health.
    pub fn new() -> Reflection {
        let v1 = builder().build_v1().expect("the descriptor sets are whole");
        let v1alpha = builder().build_v1alpha().expect("the descriptor sets are whole");
        Reflection {
            v1: Box::new(move |request| v1.clone().call(request)),
            v1alpha: Box::new(move |request| v1alpha.clone().call(request)),
        }
    }

    /// Answers a call of `grpc.reflection.v1.ServerReflection`.
    pub fn v1(&self, request: Request<Incoming>) -> Calling {
        (self.v1)(request)
    }

    /// Answers a call of `grpc.reflection.v1alpha.ServerReflection`, which older clients know.
    pub fn v1alpha(&self, request: Request<Incoming>) -> Calling {
        (self.v1alpha)(request)
    }
}

fn builder() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTOR)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
