//! Orders from a test that runs in another process: JSON on the proxy's own port, below a path that no SDK asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::proxy::{Plan, Power, Rule};

/// `POST /_proxy` with a list of these in the body, done in order; `GET /_proxy` does nothing. Both answer [`Counts`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Adds a rule.
    Add(Rule),
    /// Every call takes so many milliseconds longer.
    LatencyMs(u64),
    /// The service's clock is so far ahead of ours.
    DateOffsetMs(i64),
    /// Lets go of what is held.
    Release,
    /// Closes connections.
    Down,
    /// Answers nothing.
    Silent,
    /// There again.
    Up,
    /// Takes all orders back.
    Clear,
    /// Counts from 0 again.
    Forget,
}

/// How many calls of each operation have come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// By operation.
    pub counts: BTreeMap<String, u64>,
}

const PATH: &str = "/_proxy";

/// What a request with orders is answered, or nothing if it is none of them.
pub fn answer(first_line: &str, body: &[u8], plan: &Plan) -> Option<Vec<u8>> {
    if first_line.split(' ').nth(1) != Some(PATH) {
        return None;
    }
    let commands =
        if body.is_empty() { Ok(Vec::new()) } else { serde_json::from_slice::<Vec<Command>>(body) };
    let told = match commands {
        Ok(commands) => {
            commands.into_iter().for_each(|command| obey(command, plan));
            serde_json::to_vec(&Counts { counts: plan.counts() })
        }
        Err(error) => serde_json::to_vec(&serde_json::json!({ "error": error.to_string() })),
    };
    Some(told.unwrap_or_default())
}

fn obey(command: Command, plan: &Plan) {
    match command {
        Command::Add(rule) => plan.add(rule),
        Command::LatencyMs(ms) => plan.set_latency(Duration::from_millis(ms)),
        Command::DateOffsetMs(ms) => plan.set_date_offset_ms(ms),
        Command::Release => plan.release(),
        Command::Down => plan.set_power(Power::Down),
        Command::Silent => plan.set_power(Power::Silent),
        Command::Up => plan.set_power(Power::Up),
        Command::Clear => plan.clear(),
        Command::Forget => plan.forget_calls(),
    }
}

#[cfg(test)]
mod tests {
    use super::Command;
    use crate::proxy::{Fault, Rule};

    #[test]
    fn orders_are_read() {
        let text = r#"[{"add": {"fault": "lost", "operation": "UpdateItem", "times": 1}},
                       {"add": {"fault": {"late": 50}}}, {"latency_ms": 5}, "down", "clear"]"#;
        let commands: Vec<Command> = serde_json::from_str(text).expect("orders");
        assert_eq!(commands[0], Command::Add(Rule::of(Fault::Lost).on("UpdateItem").times(1)));
        assert_eq!(commands[1], Command::Add(Rule::of(Fault::Late(50))));
        assert_eq!(commands[2..], [Command::LatencyMs(5), Command::Down, Command::Clear]);
    }
}
