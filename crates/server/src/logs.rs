//! Logs: structured events to stderr, as text for people or JSON lines for machines. Stdout stays for data.

use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

use crate::config::{Config, LogFormat, LogLevel};

/// Sends every event from here on to stderr. Called once, before anything is logged.
///
/// # Panics
/// If logs were set up before.
pub fn init(config: &Config) {
    let lines = match config.log_format {
        LogFormat::Text => fmt::layer().compact().with_ansi(colours()).with_writer(io::stderr).boxed(),
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    registry().with(lines).with(targets(config.log_level)).init();
}

/// Colours are for people: a terminal, and nobody who asked for none (<https://no-color.org>).
fn colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stderr().is_terminal()
}

/// Tidegate's own events at `level`; those of the crates below it only from a warning up, since at `debug` they
/// would drown ours.
fn targets(level: LogLevel) -> Targets {
    let level = filter(level);
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("tidegate", level)
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn our_events_follow_the_level_and_others_stop_at_warnings() {
        let cases = [
            (LogLevel::Debug, "tidegate::serve", Level::DEBUG, true),
            (LogLevel::Debug, "tidegate_limiter", Level::DEBUG, true),
            (LogLevel::Debug, "h2::codec", Level::DEBUG, false),
            (LogLevel::Debug, "h2::codec", Level::WARN, true),
            (LogLevel::Info, "tidegate", Level::DEBUG, false),
            (LogLevel::Error, "h2::codec", Level::WARN, false),
        ];
        for (level, target, event, shown) in cases {
            assert_eq!(targets(level).would_enable(target, &event), shown, "{level:?} {target} {event}");
        }
    }
}
