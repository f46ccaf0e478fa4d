//! Short ways to run a script once.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_hooks::{
    Bounds, EnqueueInput, EnqueueVerdict, Failure, FailureInput, FailureVerdict, Hooks, Sandbox,
};

/// Bounds whose clock does not matter: a busy machine must not fail a test.
pub fn patient() -> Bounds {
    Bounds { wall_ns: u64::MAX, ..Bounds::default() }
}

pub fn sandbox(on_enqueue: &str) -> Sandbox {
    Sandbox::new(&Hooks::new(Some(on_enqueue), None), patient(), Arc::new(())).unwrap()
}

pub fn ask(sandbox: &mut Sandbox, headers: &[(&str, &str)]) -> Result<EnqueueVerdict, Failure> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    sandbox.on_enqueue(&EnqueueInput { queue: "mail", headers: &headers, payload_size: 42 })
}

/// Runs `body` as `on_enqueue`, with headers `tenant` = `acme` and `tier` = `gold`.
pub fn enqueue(body: &str) -> Result<EnqueueVerdict, Failure> {
    let mut sandbox = sandbox(&format!("function on_enqueue(msg) {body} end"));
    ask(&mut sandbox, &[("tenant", "acme"), ("tier", "gold")])
}

/// What `expression` is, as text.
pub fn value_of(expression: &str) -> String {
    let verdict = enqueue(&format!("return {{ fairness_key = tostring({expression}) }}"));
    let verdict = verdict.unwrap_or_else(|failure| panic!("{expression}: {failure}"));
    String::from_utf8(verdict.fairness_key.unwrap()).unwrap()
}

/// Runs `body` as `on_failure` of a message that failed for the third time.
pub fn failure(body: &str) -> Result<FailureVerdict, Failure> {
    let script = format!("function on_failure(msg) {body} end");
    let config: HashMap<String, String> = [("attempts".to_owned(), "5".to_owned())].into();
    let mut sandbox = Sandbox::new(&Hooks::new(None, Some(&script)), patient(), Arc::new(config)).unwrap();
    sandbox.on_failure(&FailureInput {
        queue: "mail",
        id: "0192f3c4a1b20001",
        headers: &[(b"tenant", b"acme")],
        attempts: 3,
        error: "smtp: 421 try later",
    })
}
