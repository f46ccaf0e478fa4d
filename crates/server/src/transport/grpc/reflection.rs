//! Reflection: a client that has no .proto file asks for it here.

use std::convert::Infallible;

use http::{Request, Response};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic_reflection::server::Builder;

/// The service that is stable.
pub const V1: &str = "grpc.reflection.v1.ServerReflection";
/// The one that older clients know.
pub const V1ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection";

/// Every message and service, out of `proto/`.
const DESCRIPTOR: &[u8] = include_bytes!("generated/descriptor.bin");

/// tonic keeps the types of its reflection services to itself, hence the boxes; nobody reflects in a hurry.
type Server = Box<dyn Fn(Request<Incoming>) -> BoxFuture<Response<Body>, Infallible>>;

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

    /// Answers a call of [`V1`].
    pub fn v1(&self, request: Request<Incoming>) -> BoxFuture<Response<Body>, Infallible> {
        (self.v1)(request)
    }

    /// Answers a call of [`V1ALPHA`].
    pub fn v1alpha(&self, request: Request<Incoming>) -> BoxFuture<Response<Body>, Infallible> {
        (self.v1alpha)(request)
    }
}

fn builder() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTOR)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
