//! What came of a trial, for people and for programs.

use serde_json::{Value, json};
use tidegate_hooks::{EnqueueVerdict, Failure, FailureVerdict, Hook, Reason, Usage};

/// What a script decided.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Enqueue(EnqueueVerdict),
    Failure(FailureVerdict),
}

/// A trial and what it used.
#[derive(Debug)]
pub struct Report {
    pub hook: Hook,
    pub verdict: Result<Verdict, Failure>,
    pub usage: Usage,
}

impl Report {
    /// A small table.
    pub fn text(&self) -> String {
        let mut rows = match &self.verdict {
            Ok(Verdict::Enqueue(verdict)) => enqueue_rows(verdict),
            Ok(Verdict::Failure(verdict)) => failure_rows(*verdict),
            Err(_) => Vec::new(),
        };
        rows.push(("used", self.used()));
        let rows = rows.iter().map(|(name, value)| format!("  {name:<15}{value}\n"));
        format!("{}\n{}", self.hook.name(), rows.collect::<String>())
    }

    /// Why there is no verdict, with the line of the file.
    pub fn complaint(&self, script: &str, failure: &Failure) -> String {
        let line = failure.line.map_or(String::new(), |line| format!(":{line}"));
        let hint = hint(failure);
        format!("error: {script}{line}: {}\nhint: {hint}\nused: {}\n", failure.text, self.used())
    }

    /// One line of JSON.
    pub fn json(&self) -> String {
        let Usage { instructions, wall_ns, memory_bytes } = self.usage;
        let outcome = match &self.verdict {
            Ok(verdict) => ("verdict", verdict_json(verdict)),
            Err(failure) => (
                "error",
                json!({ "reason": failure.reason.word(), "line": failure.line, "text": failure.text }),
            ),
        };
        let usage = json!({ "instructions": instructions, "wall_ns": wall_ns, "memory_bytes": memory_bytes });
        format!("{}\n", json!({ "hook": self.hook.name(), outcome.0: outcome.1, "used": usage }))
    }

    fn used(&self) -> String {
        let Usage { instructions, wall_ns, memory_bytes } = self.usage;
        let (us, kib) = (wall_ns as f64 / 1e3, memory_bytes as f64 / 1024.0);
        format!("{us:.1} us, {instructions} instructions, {kib:.1} KiB")
    }
}

fn enqueue_rows(verdict: &EnqueueVerdict) -> Vec<(&'static str, String)> {
    let unset = || "not set".to_owned();
    let number = |number: Option<u32>| number.map_or_else(unset, |number| number.to_string());
    let keys = match &verdict.throttle_keys {
        None => unset(),
        Some(keys) if keys.is_empty() => "none".to_owned(),
        Some(keys) => keys.iter().map(|key| text(key)).collect::<Vec<_>>().join(", "),
    };
    vec![
        ("fairness key", verdict.fairness_key.as_deref().map_or_else(unset, text)),
        ("weight", number(verdict.weight)),
        ("cost", number(verdict.cost)),
        ("throttle keys", keys),
    ]
}

fn failure_rows(verdict: FailureVerdict) -> Vec<(&'static str, String)> {
    let action = match verdict {
        FailureVerdict::Retry { delay_ms: Some(delay_ms) } => format!("retry in {delay_ms} ms"),
        FailureVerdict::Retry { delay_ms: None } => "retry, after the backoff of the queue".to_owned(),
        FailureVerdict::DeadLetter => "dead letter".to_owned(),
        FailureVerdict::Default => "not set: as the queue's settings say".to_owned(),
    };
    vec![("action", action)]
}

fn verdict_json(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Enqueue(verdict) => json!({
            "fairness_key": verdict.fairness_key.as_deref().map(text),
            "weight": verdict.weight,
            "cost": verdict.cost,
            "throttle_keys": verdict.throttle_keys.as_ref().map(|keys| keys.iter().map(|key| text(key)).collect::<Vec<_>>()),
        }),
        Verdict::Failure(FailureVerdict::Retry { delay_ms }) => {
            json!({ "action": "retry", "delay_ms": delay_ms })
        }
        Verdict::Failure(FailureVerdict::DeadLetter) => json!({ "action": "dead_letter" }),
        Verdict::Failure(FailureVerdict::Default) => json!({ "action": null }),
    }
}

fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

fn hint(failure: &Failure) -> String {
    let name = failure.hook.name();
    match failure.reason {
        Reason::Syntax => "scripts are in Lua 5.4".to_owned(),
        Reason::NoFunction => {
            format!("write `function {name}(msg) ... end`, not local; --hook names another function")
        }
        Reason::Raised => "a message goes on with its defaults when the script fails".to_owned(),
        Reason::Instructions | Reason::Time => {
            "do less per message: the script runs once for each of them".to_owned()
        }
        Reason::Memory => "keep less: globals stay from message to message".to_owned(),
        Reason::Verdict => "shorten the keys, or give fewer of them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const USAGE: Usage = Usage { instructions: 35, wall_ns: 1250, memory_bytes: 2048 };

    fn check(hook: Hook, verdict: Result<Verdict, Failure>, expected: Expect) {
        let report = Report { hook, verdict, usage: USAGE };
        let words = match &report.verdict {
            Ok(_) => report.text(),
            Err(failure) => report.complaint("script.lua", failure),
        };
        expected.assert_eq(&format!("{words}{}", report.json()));
    }

    #[test]
    fn a_verdict_is_told_to_people_and_to_programs() {
        let verdict = EnqueueVerdict {
            fairness_key: Some(b"acme".to_vec()),
            weight: Some(3),
            cost: None,
            throttle_keys: Some(vec![b"provider:x".to_vec(), b"tenant:acme".to_vec()]),
        };
        check(
            Hook::OnEnqueue,
            Ok(Verdict::Enqueue(verdict)),
            expect![[r#"
                on_enqueue
                  fairness key   acme
                  weight         3
                  cost           not set
                  throttle keys  provider:x, tenant:acme
                  used           1.2 us, 35 instructions, 2.0 KiB
                {"hook":"on_enqueue","used":{"instructions":35,"memory_bytes":2048,"wall_ns":1250},"verdict":{"cost":null,"fairness_key":"acme","throttle_keys":["provider:x","tenant:acme"],"weight":3}}
            "#]],
        );
        check(
            Hook::OnFailure,
            Ok(Verdict::Failure(FailureVerdict::Retry { delay_ms: Some(1500) })),
            expect![[r#"
                on_failure
                  action         retry in 1500 ms
                  used           1.2 us, 35 instructions, 2.0 KiB
                {"hook":"on_failure","used":{"instructions":35,"memory_bytes":2048,"wall_ns":1250},"verdict":{"action":"retry","delay_ms":1500}}
            "#]],
        );
        check(
            Hook::OnFailure,
            Ok(Verdict::Failure(FailureVerdict::DeadLetter)),
            expect![[r#"
                on_failure
                  action         dead letter
                  used           1.2 us, 35 instructions, 2.0 KiB
                {"hook":"on_failure","used":{"instructions":35,"memory_bytes":2048,"wall_ns":1250},"verdict":{"action":"dead_letter"}}
            "#]],
        );
    }

    #[test]
    fn a_failure_names_the_line() {
        let failure = Failure {
            hook: Hook::OnEnqueue,
            reason: Reason::Instructions,
            line: Some(3),
            text: "it ran more than 100000 instructions".to_owned(),
        };
        check(
            Hook::OnEnqueue,
            Err(failure),
            expect![[r#"
                error: script.lua:3: it ran more than 100000 instructions
                hint: do less per message: the script runs once for each of them
                used: 1.2 us, 35 instructions, 2.0 KiB
                {"error":{"line":3,"reason":"instructions","text":"it ran more than 100000 instructions"},"hook":"on_enqueue","used":{"instructions":35,"memory_bytes":2048,"wall_ns":1250}}
            "#]],
        );
    }
}
