//! A tower layer: requests over the limit are answered 429 and never reach the service.
//!
//! Every response says where its caller stands, in the header fields of the IETF draft
//! (draft-ietf-httpapi-ratelimit-headers-10): `RateLimit-Policy: "default";q=10;w=10` and
//! `RateLimit: "default";r=9;t=1`. A 429 has `Retry-After` beside them.
//!
//! ```
//! use tidegate_limiter::tower::ThrottleLayer;
//! use tidegate_limiter::{Limit, Limiter};
//! # use std::sync::Arc;
//!
//! let limiter = Arc::new(Limiter::new());
//! let limit = Limit::per_minute(600)?.with_burst(20)?;
//! // Who is asking? `None` is not limited.
//! let layer = ThrottleLayer::new(limiter, limit, |request: &http::Request<String>| {
//!     request.headers().get("x-api-key").map(|key| key.as_bytes().to_vec())
//! });
//! # drop(layer);
//! # Ok::<(), tidegate_limiter::InvalidLimit>(())
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use tidegate_core::{Decision, Limit};
use tower_layer::Layer;
use tower_service::Service;

use crate::fields::{self, Standing, policy_name};
use crate::limiter::Limiter;

static RATELIMIT: HeaderName = HeaderName::from_static(fields::RATELIMIT);
static RATELIMIT_POLICY: HeaderName = HeaderName::from_static(fields::RATELIMIT_POLICY);

/// Limits the requests of a service. `K` says whose a request is.
#[derive(Clone)]
pub struct ThrottleLayer<K> {
    limiter: Arc<Limiter>,
    limit: Limit,
    policy: Arc<str>,
    key_of: K,
}

impl<K> ThrottleLayer<K> {
    /// Limits each key that `key_of` finds in a request; `None` is not limited.
    pub fn new<B>(limiter: Arc<Limiter>, limit: Limit, key_of: K) -> ThrottleLayer<K>
    where
        K: Fn(&Request<B>) -> Option<Vec<u8>>,
    {
        ThrottleLayer { limiter, limit, policy: "default".into(), key_of }
    }

    /// The name of the policy in the header fields. What is no printable ASCII, a quote or a backslash is left out.
    pub fn policy(mut self, name: &str) -> ThrottleLayer<K> {
        self.policy = policy_name(name).into();
        self
    }
}

impl<S, K: Clone> Layer<S> for ThrottleLayer<K> {
    type Service = Throttle<S, K>;

    fn layer(&self, inner: S) -> Throttle<S, K> {
        Throttle { inner, layer: self.clone() }
    }
}

/// A service behind a [`ThrottleLayer`].
#[derive(Clone)]
pub struct Throttle<S, K> {
    inner: S,
    layer: ThrottleLayer<K>,
}

impl<S, K, B, R> Service<Request<B>> for Throttle<S, K>
where
    S: Service<Request<B>, Response = Response<R>>,
    K: Fn(&Request<B>) -> Option<Vec<u8>>,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ThrottleFuture<S::Future, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let ThrottleLayer { limiter, limit, policy, key_of } = &self.layer;
        let Some(key) = key_of(&request) else {
            return ThrottleFuture::Passed { inner: self.inner.call(request), fields: None };
        };
        let decision = limiter.check(key, limit);
        let fields = Fields::new(policy, limit, &decision);
        match decision.allowed {
            true => ThrottleFuture::Passed { inner: self.inner.call(request), fields: Some(fields) },
            false => ThrottleFuture::Denied { response: Some(denied(&decision, fields)) },
        }
    }
}

fn denied<R: Default>(decision: &Decision, fields: Fields) -> Response<R> {
    let mut response = Response::new(R::default());
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    // A layer takes one token at a time, and no burst is below one: it can always pass some day.
    let seconds = decision.retry_after.seconds();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    fields.add_to(response.headers_mut());
    response
}

/// The two header fields of the draft.
struct Fields {
    state: HeaderValue,
    policy: HeaderValue,
}

impl Fields {
    fn new(policy: &str, limit: &Limit, decision: &Decision) -> Fields {
        let standing = Standing {
            policy,
            quota: decision.limit,
            left: decision.remaining,
            rate: Some((limit, decision.reset_after_ns)),
        };
        Fields { state: value(standing.state_text()), policy: value(standing.policy_text()) }
    }

    fn add_to(self, headers: &mut HeaderMap) {
        headers.insert(RATELIMIT.clone(), self.state);
        headers.insert(RATELIMIT_POLICY.clone(), self.policy);
    }
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("the policy's name is printable, and the rest is digits")
}

pin_project_lite::pin_project! {
    /// What a [`Throttle`] answers.
    #[project = ThrottleProject]
    pub enum ThrottleFuture<F, R> {
        /// From the service, with the header fields added.
        #[doc(hidden)]
        Passed { #[pin] inner: F, fields: Option<Fields> },
        /// From the layer itself.
        #[doc(hidden)]
        Denied { response: Option<Response<R>> },
    }
}

impl<F, R, E> Future for ThrottleFuture<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            ThrottleProject::Passed { inner, fields } => {
                let mut response = ready!(inner.poll(context))?;
                fields.take().into_iter().for_each(|fields| fields.add_to(response.headers_mut()));
                Poll::Ready(Ok(response))
            }
            ThrottleProject::Denied { response } => {
                Poll::Ready(Ok(response.take().expect("a future is not polled after it is ready")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::tower::{ServiceBuilder, ServiceExt, service_fn};
    use std::convert::Infallible;

    fn ask(
        layer: &ThrottleLayer<impl Fn(&Request<()>) -> Option<Vec<u8>> + Clone>,
        key: Option<&str>,
    ) -> Response<String> {
        let service =
            service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new("served".to_owned())) });
        let mut request = Request::new(());
        if let Some(key) = key {
            request.headers_mut().insert("x-api-key", key.parse().unwrap());
        }
        pollster::block_on(ServiceBuilder::new().layer(layer.clone()).service(service).oneshot(request))
            .unwrap()
    }

    fn header<'r>(response: &'r Response<String>, name: &str) -> Option<&'r str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn a_request_over_the_limit_is_answered_429() {
        let limit = Limit::per_minute(60).unwrap().with_burst(2).unwrap();
        let key_of =
            |request: &Request<()>| request.headers().get("x-api-key").map(|key| key.as_bytes().to_vec());
        let layer = ThrottleLayer::new(Arc::new(Limiter::new()), limit, key_of).policy("per\"key");

        let first = ask(&layer, Some("a"));
        assert_eq!((first.status(), first.body().as_str()), (StatusCode::OK, "served"));
        assert_eq!(header(&first, "ratelimit-policy"), Some(r#""perkey";q=2;w=2"#));
        assert_eq!(header(&first, "ratelimit"), Some(r#""perkey";r=1;t=1"#));
        assert_eq!(header(&first, "retry-after"), None);

        assert_eq!(header(&ask(&layer, Some("a")), "ratelimit"), Some(r#""perkey";r=0;t=1"#));
        let third = ask(&layer, Some("a"));
        assert_eq!((third.status(), third.body().as_str()), (StatusCode::TOO_MANY_REQUESTS, ""));
        assert_eq!(header(&third, "retry-after"), Some("1"));
        assert_eq!(header(&third, "ratelimit"), Some(r#""perkey";r=0;t=1"#));

        assert_eq!(ask(&layer, Some("b")).status(), StatusCode::OK, "another key");
        let free = ask(&layer, None);
        assert_eq!((free.status(), header(&free, "ratelimit")), (StatusCode::OK, None));
    }
}
