//! Where a caller stands, in the words of the header fields of the IETF draft: what is left of the tightest limit, and what
//! there is of all.

use tidegate_core::Limit;
use tidegate_core::bucket::Ready;
use tidegate_core::limit::Parts;
use tidegate_ledger::Status;
use tidegate_limiter::fields::{Standing, policy_name};

/// The two fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// What is left of the limit that stands in the way, or is nearest to.
    pub state: String,
    /// What there is of every limit.
    pub policies: String,
}

/// What to say of these limits; nothing if there are none.
pub fn fields(statuses: &[Status]) -> Option<Fields> {
    let tightest = statuses.iter().max_by(|a, b| tightness(a).total_cmp(&tightness(b)))?;
    let alone = |status: &Status| statuses.iter().filter(|other| other.limit == status.limit).count() == 1;
    let name = |status: &Status| match alone(status) {
        true => policy_name(&status.limit),
        false => {
            let entity = String::from_utf8_lossy(&status.entity);
            policy_name(&format!("{}@{entity}/{}", status.limit, status.resource))
        }
    };
    let policy = |status| standing(status, &name(status), |standing| standing.policy_text());
    let policies: Vec<String> = statuses.iter().map(policy).collect();
    let state = standing(tightest, &name(tightest), |standing| standing.state_text());
    Some(Fields { state, policies: policies.join(", ") })
}

/// The longer one has to wait, or the less there is left, the tighter.
fn tightness(status: &Status) -> f64 {
    let used = 1.0 - status.available as f64 / status.capacity.max(1) as f64;
    match (status.exceeded && !status.soft, status.ready) {
        (true, Ready::At(at)) => 1e9 + at as f64,
        (true, _) => f64::INFINITY,
        (false, _) => used,
    }
}

fn standing(status: &Status, policy: &str, told: impl FnOnce(&Standing<'_>) -> String) -> String {
    let parts =
        Parts { burst: status.capacity, count: status.refill, period_ns: u128::from(status.period_ns) };
    // A cap has no period, and so no limit.
    let limit = Limit::new(parts).ok();
    told(&Standing {
        policy,
        quota: status.capacity,
        left: u64::try_from(status.available).unwrap_or(0),
        rate: limit.as_ref().map(|limit| (limit, status.until_full_ns)),
    })
}

#[cfg(test)]
mod tests {
    use tidegate_core::NANOS_PER_S;
    use tidegate_core::ledger::Level;
    use tidegate_ledger::Kind;

    use super::*;

    fn status(entity: &str, limit: &str, available: i64, ready: Ready) -> Status {
        Status {
            entity: entity.as_bytes().into(),
            resource: "gpt-4".into(),
            limit: limit.into(),
            level: Level::System,
            kind: Kind::Rate,
            capacity: 60,
            available,
            requested: 1,
            exceeded: ready != Ready::Now,
            soft: false,
            ready,
            period_ns: 60 * NANOS_PER_S,
            refill: 60,
            until_full_ns: (60 - available.max(0) as u64) * NANOS_PER_S,
        }
    }

    fn told(statuses: &[Status]) -> (String, String) {
        fields(statuses).map(|Fields { state, policies }| (state, policies)).unwrap_or_default()
    }

    #[test]
    fn the_tightest_limit_is_told_and_all_policies() {
        let (state, policy) = told(&[status("a", "rpm", 59, Ready::Now), status("a", "tpm", 5, Ready::Now)]);
        assert_eq!(state, r#""tpm";r=5;t=1"#);
        assert_eq!(policy, r#""rpm";q=60;w=60, "tpm";q=60;w=60"#);
        let short = [status("a", "rpm", 0, Ready::At(9)), status("a", "tpm", -5, Ready::At(7))];
        assert_eq!(told(&short).0, r#""rpm";r=0;t=1"#);
        assert_eq!(told(&[]), (String::new(), String::new()));
    }

    #[test]
    fn limits_of_one_name_are_told_apart() {
        let (state, policy) = told(&[status("a", "rpm", 9, Ready::Now), status("b", "rpm", 60, Ready::Now)]);
        assert_eq!(state, r#""rpm@a/gpt-4";r=9;t=1"#);
        assert_eq!(policy, r#""rpm@a/gpt-4";q=60;w=60, "rpm@b/gpt-4";q=60;w=60"#);
    }

    #[test]
    fn a_cap_comes_back_when_somebody_gives_back() {
        let cap = Status {
            kind: Kind::Concurrency,
            period_ns: 0,
            refill: 0,
            until_full_ns: 0,
            ..status("a", "inflight", 0, Ready::Pending)
        };
        assert_eq!(told(&[cap]), (r#""inflight";r=0"#.to_owned(), r#""inflight";q=60"#.to_owned()));
    }
}
