//! The published vectors, and our own for rates that do not divide a nanosecond.
//!
//! `gcra.json`: for THROTTLE only `expect_textbook` binds, for CL.THROTTLE all of `redis_cell_*`.
//! `token_bucket.json`: the `out` of `cases`, without refill stamps; waits are held to the exact wait.

use serde::Deserialize;
use serde_json::Value;
use tidegate_core::bucket::{Bucket, Ready};
use tidegate_core::limit::Parts;
use tidegate_core::{Limit, Tat, Wait, cell, gcra};

fn read(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Far enough from the epoch that no step reaches below it.
const START: u64 = 1_700_000_000_000_000_000;

#[derive(Deserialize)]
struct Step {
    t_ns: u64,
    #[serde(default)]
    key: String,
    max_burst: u64,
    count_per_period: u64,
    period: u64,
    quantity: u64,
    expect_textbook: Option<Textbook>,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Textbook {
    allowed: bool,
    limit: u64,
    remaining: u64,
    reset_after_ns: u64,
    retry_after_ns: i64,
}

fn run_gcra(scenarios: &Value) -> usize {
    let mut checked = 0;
    for scenario in scenarios.as_array().unwrap() {
        let mut keys = std::collections::HashMap::<String, Tat>::new();
        for step in scenario["steps"].as_array().unwrap() {
            let step = Step::deserialize(step).unwrap();
            let period_ns = u128::from(step.period) * 1_000_000_000;
            let parts = Parts { burst: step.max_burst, count: step.count_per_period, period_ns };
            let limit = Limit::new(parts).unwrap();
            let tat = keys.entry(step.key).or_default();
            let (decision, changed) = gcra::take(*tat, &limit, step.quantity, START + step.t_ns);
            *tat = changed.unwrap_or(*tat);
            let retry_after_ns = match decision.retry_after {
                Wait::Now => 0,
                Wait::Ns(ns) => ns as i64,
                Wait::Never => -1,
            };
            let got = Textbook {
                allowed: decision.allowed,
                limit: decision.limit,
                remaining: decision.remaining,
                reset_after_ns: decision.reset_after_ns,
                retry_after_ns,
            };
            if let Some(expected) = step.expect_textbook {
                assert_eq!(got, expected, "{} at {} ns", scenario["id"], step.t_ns);
                checked += 1;
            }
        }
    }
    checked
}

#[test]
fn gcra_agrees_with_the_textbook() {
    assert_eq!(run_gcra(&read("gcra.json")["throttlecrab"]), 107);
}

#[test]
fn gcra_is_exact_for_rates_that_do_not_divide() {
    assert_eq!(run_gcra(&read("gcra_indivisible.json")["scenarios"]), 31);
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

fn wire(reply: cell::Reply) -> Vec<i64> {
    vec![i64::from(reply.limited), reply.limit, reply.remaining, reply.retry_after_s, reply.reset_after_s]
}

#[test]
fn cl_throttle_replies_as_redis_cell_does() {
    for scenario in read("gcra.json")["redis_cell_reply"].as_array().unwrap() {
        let mut tat = Tat::default();
        for step in scenario["steps"].as_array().unwrap() {
            let arg = |i: usize| step["cmd"][i].as_str().unwrap().parse().unwrap();
            let args = cell::Args { max_burst: arg(2), count: arg(3), period_s: arg(4), quantity: arg(5) };
            let now = START + step["t_ns"].as_u64().unwrap();
            match cell::throttle(tat, &args, now) {
                Ok((reply, changed)) => {
                    assert_eq!(wire(reply), integers(&step["expect"]), "{}", scenario["id"]);
                    tat = changed.unwrap_or(tat);
                }
                Err(error) => {
                    let expected = step["expect"]["error"].as_str().unwrap();
                    assert_eq!(format!("Cell error: Store error: {error}"), expected, "{}", scenario["id"]);
                }
            }
        }
    }
}

#[test]
fn cl_throttle_passes_redis_cells_own_table() {
    let mut tat = Tat::default();
    for case in read("gcra.json")["redis_cell_limiter"].as_array().unwrap() {
        let get = |name: &str| case[name].as_i64().unwrap();
        let args = cell::Args {
            max_burst: get("max_burst"),
            count: get("count"),
            period_s: get("period_s"),
            quantity: get("quantity"),
        };
        let now = START + case["t_ms"].as_u64().unwrap() * 1_000_000;
        let (reply, changed) = cell::throttle(tat, &args, now).unwrap();
        assert_eq!(wire(reply), integers(&case["expect"]["reply"]), "{}", case["id"]);
        tat = changed.unwrap_or(tat);
    }
}

#[test]
fn cl_throttle_names_a_zero_rate() {
    let args = cell::Args { max_burst: 1, count: 0, period_s: 1, quantity: 1 };
    assert_eq!(cell::throttle(Tat::default(), &args, START), Err(cell::Error::ZeroRate));
}

/// The vectors count millitokens per millisecond; a bucket of millitokens is a bucket.
#[derive(Deserialize)]
struct Case {
    tokens_milli: i64,
    last_refill_ms: u64,
    now_ms: u64,
    capacity_milli: u64,
    refill_amount_milli: u64,
    refill_period_ms: u64,
    requested: i64,
    adjust: i64,
}

#[test]
fn token_bucket_agrees_with_the_published_cases() {
    let cases = read("token_bucket.json");
    let cases = cases["cases"].as_array().unwrap();
    for case in cases {
        let Case { tokens_milli, last_refill_ms, now_ms, requested, adjust, .. } =
            Case::deserialize(&case["in"]).unwrap();
        let input = Case::deserialize(&case["in"]).unwrap();
        let limit = Limit::new(Parts {
            burst: input.capacity_milli,
            count: input.refill_amount_milli,
            period_ns: u128::from(input.refill_period_ms) * 1_000_000,
        })
        .unwrap();
        let (out, id) = (&case["out"], &case["id"]);
        let now = now_ms * 1_000_000;
        let fresh = Bucket::holding(tokens_milli, &limit, last_refill_ms * 1_000_000);
        let milli = |value: &Value| value.as_i64().unwrap();

        let mut bucket = fresh;
        bucket.refill(&limit, now);
        assert_eq!(bucket.tokens(&limit), milli(&out["refill"]["new_tokens_milli"]), "{id}: refill");
        assert_eq!(
            bucket.tokens(&limit).div_euclid(1000),
            milli(&out["calculate_available"]),
            "{id}: available"
        );

        let mut bucket = fresh;
        let take = &out["try_consume"];
        if let Ok(n) = u64::try_from(requested.saturating_mul(1000)) {
            let ready = bucket.try_take(&limit, n, now);
            // The published code lets a request above the capacity pass from an overfull bucket.
            if ready != Ready::Never {
                assert_eq!(ready == Ready::Now, take["success"].as_bool().unwrap(), "{id}: decision");
                assert_eq!(bucket.tokens(&limit), milli(&take["new_tokens_milli"]), "{id}: tokens after");
            }
        }

        let mut bucket = fresh;
        bucket.charge(&limit, adjust * 1000, now);
        assert_eq!(bucket.tokens(&limit), milli(&out["force_consume"]["new_tokens_milli"]), "{id}: charge");
    }
    assert_eq!(cases.len(), 376);
}
