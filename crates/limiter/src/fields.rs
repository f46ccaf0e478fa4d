//! The two header fields that say where a caller stands, as the IETF draft has them
//! (draft-ietf-httpapi-ratelimit-headers-10): `RateLimit-Policy: "default";q=10;w=10` and `RateLimit: "default";r=9;t=1`.

use std::fmt::Write;

use tidegate_core::{Limit, Wait};

/// The name of the field that says what is left.
pub const RATELIMIT: &str = "ratelimit";
/// The name of the field that says what there is.
pub const RATELIMIT_POLICY: &str = "ratelimit-policy";

/// A name as the fields can carry it: what is no printable ASCII, a quote or a backslash is left out.
pub fn policy_name(name: &str) -> String {
    let sound = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    name.chars().filter(sound).collect()
}

/// One limit, and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// What it is called: see [`policy_name`].
    pub policy: &'a str,
    /// What there is at most: the burst, or the cap.
    pub quota: u64,
    /// What is left.
    pub left: u64,
    /// The rate at which it comes back, and how long until all of it is back; nothing if that is up to others.
    pub rate: Option<(&'a Limit, u64)>,
}

impl Standing<'_> {
    /// `"default";q=10;w=10`. The window is the time in which all of the quota comes back.
    pub fn policy_text(&self) -> String {
        let mut text = format!("\"{}\";q={}", self.policy, self.quota);
        if let Some((limit, _)) = self.rate {
            push(&mut text, "w", Wait::Ns(limit.refill_ns()).seconds());
        }
        text
    }

    /// `"default";r=9;t=1`. The time is until there is more than there is now.
    pub fn state_text(&self) -> String {
        let mut text = format!("\"{}\";r={}", self.policy, self.left);
        if let Some((limit, until_full_ns)) = self.rate {
            push(&mut text, "t", self.next_token_s(limit, until_full_ns));
        }
        text
    }

    fn next_token_s(&self, limit: &Limit, until_full_ns: u64) -> i64 {
        if self.left >= self.quota {
            return 0;
        }
        let missing = u128::from(self.quota - self.left - 1);
        let after_next_ns = missing * limit.period_ns() / u128::from(limit.count());
        let after_next_ns = u64::try_from(after_next_ns).unwrap_or(u64::MAX);
        Wait::Ns(until_full_ns.saturating_sub(after_next_ns)).seconds()
    }
}

fn push(text: &mut String, name: &str, seconds: i64) {
    if write!(text, ";{name}={seconds}").is_err() {
        unreachable!("a String takes whatever is written to it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_by_itself_says_when() {
        let limit = Limit::per_minute(60).unwrap().with_burst(10).unwrap();
        let standing = Standing { policy: "rpm", quota: 10, left: 7, rate: Some((&limit, 2_400_000_000)) };
        assert_eq!(standing.policy_text(), r#""rpm";q=10;w=10"#);
        assert_eq!(standing.state_text(), r#""rpm";r=7;t=1"#);
        let slots = Standing { policy: "inflight", quota: 8, left: 0, rate: None };
        assert_eq!(
            (slots.policy_text(), slots.state_text()),
            (r#""inflight";q=8"#.to_owned(), r#""inflight";r=0"#.to_owned())
        );
        assert_eq!(policy_name("per\"key\u{e9}\\"), "perkey");
    }
}
