//! What one call of a hook costs, in processor time: `cargo run --release -p tidegate-hooks --example hook_cost`.

use std::hint::black_box;
use std::sync::Arc;

use tidegate_hooks::{Bounds, Clock, EnqueueInput, FailureInput, Hooks, Sandbox};

/// A build for debugging measures nothing, and only shows that this runs.
const LESS: u32 = if cfg!(debug_assertions) { 100 } else { 1 };
const CALLS: u32 = 200_000 / LESS;
const ROUNDS: usize = 7;

const ON_ENQUEUE: [(&str, &str); 5] = [
    ("one header is the key", "return { fairness_key = msg.headers.tenant }"),
    ("nothing", ""),
    (
        "key, weight, cost and two throttle keys",
        "local tenant = msg.headers.tenant or 'default'
         return {
            fairness_key = tenant,
            weight = msg.headers.tier == 'gold' and 3 or 1,
            cost = 1 + msg.payload_size // 1024,
            throttle_keys = { 'provider:' .. msg.headers.provider, 'tenant:' .. tenant },
         }",
    ),
    (
        "helpers: tenant_route, rate_limit_keys",
        "local route = tidegate.helpers.tenant_route(msg, 'tenant')
         route.throttle_keys = tidegate.helpers.rate_limit_keys(msg, { 'provider:{provider}', 'region:{region}' })
         return route",
    ),
    ("a pattern", "return { fairness_key = msg.headers.tenant:match('^(%a+)') }"),
];

const HEADERS: [(&[u8], &[u8]); 4] =
    [(b"tenant", b"acme-4711"), (b"tier", b"gold"), (b"provider", b"openai"), (b"region", b"eu-west-1")];

fn main() {
    for (name, body) in ON_ENQUEUE {
        let script = format!("function on_enqueue(msg) {body} end");
        let mut sandbox = load(Hooks::compile(Some(&script), None));
        // Values differ from message to message, as they do.
        let tenants: Vec<String> = (0..997).map(|number| format!("acme-{number}")).collect();
        report(name, |call| {
            let mut headers = HEADERS;
            headers[0].1 = tenants[call % tenants.len()].as_bytes();
            let input = EnqueueInput { queue: "mail", headers: &headers, payload_size: 1024 };
            black_box(sandbox.on_enqueue(&input)).is_ok()
        });
    }
    let script = "function on_failure(msg)
        if msg.attempts > 5 then return { action = 'dlq' } end
        return { action = 'retry', delay_ms = tidegate.helpers.exponential_backoff(msg.attempts, 1000, 60000) }
    end";
    let mut sandbox = load(Hooks::compile(None, Some(script)));
    report("on_failure with backoff", |call| {
        let attempts = call as u32 % 8;
        let error = "connection reset";
        let input =
            FailureInput { queue: "mail", id: "0192f3c4a1b20001", headers: &HEADERS, attempts, error };
        black_box(sandbox.on_failure(&input)).is_ok()
    });
    report("a new sandbox every thousand calls", |call| {
        call % 1000 != 0 || black_box(Hooks::compile(None, Some(script))).is_ok()
    });
}

fn load(hooks: Result<Hooks, tidegate_hooks::CompileError>) -> Sandbox {
    let hooks = hooks.expect("the scripts above are good");
    Sandbox::new(&hooks, Bounds::default(), Arc::new(())).expect("the scripts above are good")
}

/// The median of some rounds, in nanoseconds a call.
fn report(name: &str, mut call: impl FnMut(usize) -> bool) {
    let clock = Clock::default();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = (clock.processor)();
            let good = (0..CALLS as usize).filter(|&number| call(number)).count();
            assert_eq!(good, CALLS as usize, "{name}: a call failed");
            ((clock.processor)() - started) as f64 / f64::from(CALLS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{:7.0} ns  {name}", rounds[ROUNDS / 2]);
}
