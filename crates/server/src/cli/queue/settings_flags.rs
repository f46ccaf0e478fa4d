//! Settings of a queue as flags, one for each.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::ValueHint::FilePath;
use serde_json::{Value, json};
use tidegate_client::{Backoff, Durability, SettingsPatch};

use crate::cli::input::{self, Error};
use crate::cli::millis;

/// Settings, by flags and by a file.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsFlags {
    /// How long a delivered message may stay unsettled before it comes back [server's default: 30s].
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    visibility_timeout: Option<u64>,
    /// Drop messages that nobody took for this long [server's default: never].
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    retention: Option<u64>,
    /// Make a message a dead letter after so many failed attempts [server's default: never].
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// How long a message waits after its first failed attempt [server's default: 1s].
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    backoff_initial: Option<u64>,
    /// What each further wait is multiplied by [server's default: 2].
    #[arg(long, value_name = "FACTOR")]
    backoff_factor: Option<f64>,
    /// The longest wait after a failed attempt [server's default: 60s].
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    backoff_max: Option<u64>,
    /// The part of a wait that is left to chance, from 0 to 1 [server's default: 0.2].
    #[arg(long, value_name = "PART")]
    backoff_jitter: Option<f64>,
    /// Where dead letters go; `none` for nowhere [server's default: NAME.dlq, made with the queue].
    #[arg(long, value_name = "QUEUE")]
    dead_letter_queue: Option<String>,
    /// The most messages held; more are refused [server's default: no bound].
    #[arg(long, value_name = "N")]
    max_depth: Option<u64>,
    /// The most bytes held; more are refused [server's default: no bound].
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// The weight of a fairness key whose messages bring none [server's default: 1].
    #[arg(long, value_name = "N")]
    weight: Option<u32>,
    /// What a key of weight 1 may spend in a turn, in cost [server's default: 1].
    #[arg(long, value_name = "N")]
    quantum: Option<u32>,
    /// Lanes of one key; past them, its messages wait in one line [server's default: 64].
    #[arg(long, value_name = "N")]
    max_lanes: Option<u32>,
    /// The fairness key of messages that bring none: a template such as {headers.tenant}.
    #[arg(long, value_name = "TEMPLATE")]
    fairness_key: Option<String>,
    /// A throttle key of messages that bring none: a template such as provider:{headers.provider}. May be repeated.
    #[arg(long = "throttle-key", value_name = "TEMPLATE")]
    throttle_keys: Vec<String>,
    /// When an enqueue, ack or nack is answered, and so what a crash may forget [server's default: fsync].
    #[arg(long, value_name = "WORD", value_enum)]
    durability: Option<Word>,
    /// A Lua script that chooses fairness key, weight, cost and throttle keys.
    #[arg(long, value_name = "FILE", value_hint = FilePath)]
    on_enqueue: Option<PathBuf>,
    /// A Lua script that chooses between another attempt and the dead letters.
    #[arg(long, value_name = "FILE", value_hint = FilePath)]
    on_failure: Option<PathBuf>,
    /// Settings as a JSON object, `-` for stdin. Flags go before it.
    #[arg(long, value_name = "FILE", value_hint = FilePath)]
    settings: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Word {
    /// Once it is on disk: forgets nothing.
    Fsync,
    /// At once; on disk within the flush interval: forgets that much.
    Interval,
    /// At once; on disk when there is another reason to write.
    Memory,
}

impl SettingsFlags {
    /// Whether some part of the backoff is said, and so the rest of it has to be known.
    pub fn touches_backoff(&self) -> bool {
        self.backoff_initial.is_some()
            || self.backoff_factor.is_some()
            || self.backoff_max.is_some()
            || self.backoff_jitter.is_some()
    }

    /// What is said. A part of the backoff that is not said stays as in `backoff`.
    pub fn patch(&self, backoff: Backoff) -> Result<SettingsPatch, Error> {
        let file = self.settings.as_deref().map(input::settings).transpose()?.unwrap_or_default();
        let script = |path: &Option<PathBuf>| path.as_deref().map(input::text).transpose();
        let said = [
            ("visibility_timeout_ms", self.visibility_timeout.map(Value::from)),
            ("retention_ms", self.retention.map(Value::from)),
            ("max_attempts", self.max_attempts.map(Value::from)),
            ("backoff", self.touches_backoff().then(|| self.backoff(backoff))),
            ("dead_letter_queue", self.dead_letter_queue.as_deref().map(dead_letter_queue)),
            ("max_depth", self.max_depth.map(Value::from)),
            ("max_bytes", self.max_bytes.map(Value::from)),
            ("weight", self.weight.map(Value::from)),
            ("quantum", self.quantum.map(Value::from)),
            ("max_lanes", self.max_lanes.map(Value::from)),
            ("fairness_key", self.fairness_key.as_deref().map(Value::from)),
            ("throttle_keys", (!self.throttle_keys.is_empty()).then(|| json!(self.throttle_keys))),
            ("durability", self.durability.map(|word| json!(Durability::from(word)))),
            ("on_enqueue", script(&self.on_enqueue)?.map(Value::from)),
            ("on_failure", script(&self.on_failure)?.map(Value::from)),
        ];
        let said = said.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Ok(said.fold(SettingsPatch::from_json(file), |patch, (name, value)| patch.set(name, value)))
    }

    fn backoff(&self, other: Backoff) -> Value {
        json!(Backoff {
            initial_ms: self.backoff_initial.unwrap_or(other.initial_ms),
            factor: self.backoff_factor.unwrap_or(other.factor),
            max_ms: self.backoff_max.unwrap_or(other.max_ms),
            jitter: self.backoff_jitter.unwrap_or(other.jitter),
        })
    }
}

fn dead_letter_queue(name: &str) -> Value {
    match name {
        "none" => Value::Null,
        name => name.into(),
    }
}

impl From<Word> for Durability {
    fn from(word: Word) -> Durability {
        match word {
            Word::Fsync => Durability::Fsync,
            Word::Interval => Durability::Interval,
            Word::Memory => Durability::Memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: SettingsFlags,
    }

    fn patch(words: &str) -> Value {
        let line = Line::try_parse_from(["create"].into_iter().chain(words.split_whitespace())).unwrap();
        let backoff = Backoff { initial_ms: 7, ..Backoff::default() };
        json!(line.flags.patch(backoff).unwrap().as_json())
    }

    #[test]
    fn every_flag_is_a_setting() {
        assert_eq!(patch(""), json!({}));
        let all = "--visibility-timeout 1m --retention 7d --max-attempts 5 --backoff-max 10s --dead-letter-queue none \
            --max-depth 10 --max-bytes 20 --weight 2 --quantum 3 --max-lanes 4 --fairness-key {headers.t} \
            --throttle-key a --throttle-key b:{headers.b} --durability memory";
        let expected = json!({
            "visibility_timeout_ms": 60_000,
            "retention_ms": 604_800_000,
            "max_attempts": 5,
            "backoff": { "initial_ms": 7, "factor": 2.0, "max_ms": 10_000, "jitter": 0.2 },
            "dead_letter_queue": null,
            "max_depth": 10,
            "max_bytes": 20,
            "weight": 2,
            "quantum": 3,
            "max_lanes": 4,
            "fairness_key": "{headers.t}",
            "throttle_keys": ["a", "b:{headers.b}"],
            "durability": "memory",
        });
        assert_eq!(patch(all), expected);
    }

    #[test]
    fn no_setting_is_without_a_flag() {
        // All settings that the server tells of, by name.
        let settings = json!(tidegate_client::QueueSettings::default());
        let said = patch(
            "--visibility-timeout 1 --retention 1 --max-attempts 1 --backoff-initial 1 --dead-letter-queue q \
             --max-depth 1 --max-bytes 1 --weight 1 --quantum 1 --max-lanes 1 --fairness-key k --throttle-key k \
             --durability fsync --on-enqueue Cargo.toml --on-failure Cargo.toml",
        );
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
        assert_eq!(names(&said), names(&settings));
    }
}
