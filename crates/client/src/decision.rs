//! The answer to an ask.

use std::fmt;
use std::time::Duration;

use crate::Error;
use crate::resp::Reply;

/// What the server decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call passes.
    pub allowed: bool,
    /// The burst of the limit.
    pub limit: u64,
    /// Tokens left after this call.
    pub remaining: u64,
    /// When the key is back to its full burst, rounded up to the second.
    pub reset_after: Duration,
    /// When the same call could pass.
    pub retry: Retry,
}

/// When a call could pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It has passed already.
    Now,
    /// Not before this long, rounded up to the second.
    After(Duration),
    /// However long the caller waits, it cannot: the quantity is above the burst.
    Never,
}

impl Decision {
    /// How long to wait before the next try: `None` when waiting is of no use.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.retry {
            Retry::Now => Some(Duration::ZERO),
            Retry::After(wait) => Some(wait),
            Retry::Never => None,
        }
    }

    /// `[allowed, limit, remaining, reset_after, retry_after]`.
    pub(crate) fn from_reply(reply: Reply) -> Result<Decision, Error> {
        let unexpected = Error::protocol("a decision is an array of five numbers");
        let Reply::Array(items) = reply else { return Err(unexpected) };
        let [
            Reply::Integer(allowed),
            Reply::Integer(limit),
            Reply::Integer(remaining),
            Reply::Integer(reset_after),
            Reply::Integer(retry_after),
        ] = items[..]
        else {
            return Err(unexpected);
        };
        let allowed = allowed != 0;
        Ok(Decision {
            allowed,
            limit: positive(limit)?,
            remaining: positive(remaining)?,
            reset_after: Duration::from_secs(positive(reset_after)?),
            retry: match retry_after {
                _ if allowed => Retry::Now,
                -1 => Retry::Never,
                wait => Retry::After(Duration::from_secs(positive(wait)?)),
            },
        })
    }
}

fn positive(number: i64) -> Result<u64, Error> {
    u64::try_from(number).map_err(|_| Error::protocol("a negative number in a decision"))
}

/// In words that follow "try again".
impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retry::Now => f.write_str("now"),
            Retry::After(wait) => write!(f, "in {} s", wait.as_secs()),
            Retry::Never => f.write_str("never"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(numbers: &[i64]) -> Result<Decision, Error> {
        Decision::from_reply(Reply::Array(numbers.iter().copied().map(Reply::Integer).collect()))
    }

    #[test]
    fn the_three_outcomes() {
        let allowed = decide(&[1, 10, 9, 6, 0]).unwrap();
        assert!(allowed.allowed);
        assert_eq!((allowed.limit, allowed.remaining), (10, 9));
        assert_eq!(allowed.reset_after, Duration::from_secs(6));
        assert_eq!((allowed.retry, allowed.retry_after()), (Retry::Now, Some(Duration::ZERO)));

        let denied = decide(&[0, 10, 0, 60, 6]).unwrap();
        assert!(!denied.allowed);
        assert_eq!(denied.retry_after(), Some(Duration::from_secs(6)));

        let never = decide(&[0, 10, 10, 0, -1]).unwrap();
        assert_eq!((never.retry, never.retry_after()), (Retry::Never, None));
    }

    #[test]
    fn anything_else_is_an_error() {
        assert!(decide(&[1, 10, 9, 6]).is_err());
        assert!(decide(&[1, 10, 9, 6, 0, 0]).is_err());
        assert!(decide(&[1, -10, 9, 6, 0]).is_err());
        assert!(decide(&[0, 10, 9, 6, -2]).is_err());
        assert!(Decision::from_reply(Reply::Integer(1)).is_err());
        assert!(Decision::from_reply(Reply::Array(vec![Reply::Null; 5])).is_err());
    }

    #[test]
    fn a_retry_reads_as_words() {
        let words = [Retry::Now, Retry::After(Duration::from_secs(6)), Retry::Never].map(|r| r.to_string());
        assert_eq!(words, ["now", "in 6 s", "never"]);
    }
}
