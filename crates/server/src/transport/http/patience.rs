//! How long a client may take.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a request that has begun to arrive: its head, and then its body.
    pub request: Duration,
    /// Between requests; `None` is for ever.
    pub idle: Option<Duration>,
}

/// The output of `future`, or `None` if it takes longer than `limit`.
///
/// The clock is read only if the future has to wait at all, which for a body that came along with its head it does
/// not.
pub async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        Poll::Ready(output) => Some(output),
        Poll::Pending => tokio::time::timeout(limit, future).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_late_is_given_up() {
        let limit = Duration::from_secs(1);
        assert_eq!(within(limit, ready(7)).await, Some(7));
        assert_eq!(within(limit, tokio::time::sleep(limit / 2)).await, Some(()));
        assert_eq!(within(limit, pending::<()>()).await, None);
    }
}
