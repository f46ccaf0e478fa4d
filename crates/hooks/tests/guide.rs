//! Every script in `docs/guides/hooks.md` runs, and gives a verdict.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_hooks::{
    Bounds, EnqueueInput, EnqueueVerdict, FailureInput, FailureVerdict, Hook, Hooks, Sandbox,
};

const GUIDE: &str = include_str!("../../../docs/guides/hooks.md");

/// The insides of the blocks of Lua.
fn scripts() -> Vec<&'static str> {
    let blocks = GUIDE.split("```lua\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

fn load(script: &str, hook: Hook) -> Option<Sandbox> {
    let source = script.contains(&format!("function {}(", hook.name())).then_some(script)?;
    let hooks = match hook {
        Hook::OnEnqueue => Hooks::compile(Some(source), None),
        Hook::OnFailure => Hooks::compile(None, Some(source)),
    };
    let settings: HashMap<String, String> = [("weight.acme".to_owned(), "5".to_owned())].into();
    let bounds = Bounds { wall_ns: u64::MAX, ..Bounds::default() };
    Some(Sandbox::new(&hooks.unwrap(), bounds, Arc::new(settings)).unwrap())
}

#[test]
fn every_script_of_the_guide_runs() {
    let headers: [(&[u8], &[u8]); 3] = [(b"tenant", b"acme"), (b"provider", b"mx"), (b"region", b"eu")];
    let mut verdicts = 0;
    for script in scripts() {
        for headers in [&headers[..], &[]] {
            if let Some(mut sandbox) = load(script, Hook::OnEnqueue) {
                let verdict = sandbox.on_enqueue(&EnqueueInput { queue: "mail", headers, payload_size: 9 });
                assert_ne!(verdict.unwrap(), EnqueueVerdict::default(), "{script}");
                verdicts += 1;
            }
            if let Some(mut sandbox) = load(script, Hook::OnFailure) {
                let (id, error) = ("0000000000000001", "connection reset");
                let input = FailureInput { queue: "mail", id, headers, attempts: 2, error };
                assert_ne!(sandbox.on_failure(&input).unwrap(), FailureVerdict::Default, "{script}");
                verdicts += 1;
            }
        }
    }
    assert_eq!(verdicts, 10, "five scripts, each with and without headers");
}

#[test]
fn the_first_script_does_what_it_says() {
    let mut sandbox = load(scripts()[0], Hook::OnEnqueue).unwrap();
    let headers: [(&[u8], &[u8]); 2] = [(b"tenant", b"acme"), (b"provider", b"mx")];
    let input = EnqueueInput { queue: "mail", headers: &headers, payload_size: 70_000 };
    assert_eq!(
        sandbox.on_enqueue(&input).unwrap(),
        EnqueueVerdict {
            fairness_key: Some(b"acme".to_vec()),
            weight: Some(5),
            cost: Some(2),
            throttle_keys: Some(vec![b"provider:mx".to_vec(), b"tenant:acme".to_vec()]),
        }
    );
}
