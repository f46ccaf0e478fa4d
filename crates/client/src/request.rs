//! One question: a key, its limit and a quantity.

use crate::Limit;

/// What is asked about one key. Used as it is in [`Client::throttle_batch`](crate::Client::throttle_batch).
///
/// ```
/// use tidegate_client::{Limit, Request};
///
/// let request = Request::new("user:42", Limit::per_second(5)).quantity(2);
/// assert_eq!(request.quantity, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request<K> {
    /// Who is limited: any bytes.
    pub key: K,
    /// The limit to hold the key to.
    pub limit: Limit,
    /// How many tokens to take, all or none. 0 takes nothing and always passes.
    pub quantity: u64,
}

impl<K: AsRef<[u8]>> Request<K> {
    /// One token of `key`.
    pub fn new(key: K, limit: Limit) -> Request<K> {
        Request { key, limit, quantity: 1 }
    }

    /// The same question about `quantity` tokens.
    pub fn quantity(self, quantity: u64) -> Request<K> {
        Request { quantity, ..self }
    }
}
