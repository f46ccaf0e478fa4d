//! `tidegate usage`: what was taken, over time.

mod csv;
mod plot;
mod shown;

use std::time::SystemTime;

use clap::ValueEnum;
use tidegate_client::{UsageQuery, Window};
use tidegate_core::ledger::Window as Calendar;

use super::queue_door::QueueDoor;
use super::{Failure, stdout, utc};

const NOTES: &str = "\
What was given back or settled later counts negative at that time. What was charged to a parent too counts for both, \
so totals over all entities have it twice. Windows begin where the calendar says, in UTC. \
Without --since: the last hour in minutes, day in hours, 30 days in days, year in months.

Examples:
  tidegate usage --entity acme --plot
  tidegate usage --entity acme --resource gpt-4 --limit tpm --window day --since 30d --plot
  tidegate usage --window month --since 2026-01-01 --csv > usage.csv
  tidegate usage --since 1h --window minute --json | jq '.totals'
";

/// Show what was taken: by entity, resource, limit and window, with totals.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Only of this entity.
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// Only on this resource.
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
    /// Only of this limit.
    #[arg(long, value_name = "NAME")]
    limit: Option<String>,
    /// How long each window is.
    #[arg(long, value_name = "WORD", value_enum, default_value = "hour")]
    window: WindowWord,
    /// Windows since then: a time ago, such as 6h or 30d, or one of the calendar, such as 2026-11-15.
    #[arg(long, value_name = "TIME", value_parser = utc::parse)]
    since: Option<SystemTime>,
    /// Windows until then.
    #[arg(long, value_name = "TIME", value_parser = utc::parse)]
    until: Option<SystemTime>,
    /// At most so many rows.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max: u32,
    /// Draw bars.
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    plot: bool,
    /// Print rows as CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    door: QueueDoor,
}

/// As [`Window`], with the words of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WindowWord {
    Minute,
    Hour,
    Day,
    Month,
}

impl WindowWord {
    fn window(self) -> Window {
        match self {
            WindowWord::Minute => Window::Minute,
            WindowWord::Hour => Window::Hour,
            WindowWord::Day => Window::Day,
            WindowWord::Month => Window::Month,
        }
    }

    /// How far back one looks unless told.
    fn since(self) -> &'static str {
        match self {
            WindowWord::Minute => "1h",
            WindowWord::Hour => "24h",
            WindowWord::Day => "30d",
            WindowWord::Month => "365d",
        }
    }

    /// When a window begins, as short as it can be told.
    fn start(self, ms: u64) -> String {
        match self {
            WindowWord::Minute | WindowWord::Hour => utc::minute(ms),
            WindowWord::Day => utc::day(ms),
            WindowWord::Month => utc::day(ms)[..7].to_owned(),
        }
    }

    /// When the window after the one that begins then begins.
    fn next_ms(self, ms: u64) -> u64 {
        match self {
            WindowWord::Minute => Calendar::Minute,
            WindowWord::Hour => Calendar::Hour,
            WindowWord::Day => Calendar::Day,
            WindowWord::Month => Calendar::Month,
        }
        .next_ms(ms)
    }
}

/// Asks, and prints it in the form that was asked for.
pub fn run(args: Args) -> Result<(), Failure> {
    let mut query = UsageQuery::by(args.window.window()).max(args.max);
    if let Some(entity) = &args.entity {
        query = query.entity(entity);
    }
    if let Some(resource) = &args.resource {
        query = query.resource(resource);
    }
    if let Some(limit) = &args.limit {
        query = query.limit(limit);
    }
    if let Some(until) = args.until {
        query = query.to(until);
    }
    let since = args.since.or_else(|| utc::parse(args.window.since()).ok());
    query = since.into_iter().fold(query, UsageQuery::from);
    let usage = args.door.call(async |client| client.usage(&query).await)?;
    if usage.truncated {
        eprintln!("warning: there are more than {} rows; ask for less, or say --max", usage.rows.len());
    }
    if args.csv {
        return stdout::write(&csv::text(&usage.rows));
    }
    args.door.print(&usage, || match args.plot {
        true => plot::draw(&usage, args.window),
        false => shown::table(&usage, args.window),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn words_that_are_understood() {
        let parse = |words: &str| Line::try_parse_from(["usage"].into_iter().chain(words.split_whitespace()));
        for words in [
            "",
            "--entity e --resource r --limit l --window day --since 30d --plot",
            "--csv",
            "--json --until 1h",
        ] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in
            ["acme", "--window week", "--since soon", "--plot --csv", "--csv --json", "--plot --json"]
        {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn windows_follow_one_another() {
        // 2024-02-01, 2024-03-01
        assert_eq!(WindowWord::Month.next_ms(1_706_745_600_000), 1_709_251_200_000);
        assert_eq!(WindowWord::Month.start(1_709_251_200_000), "2024-03");
        assert_eq!(WindowWord::Day.start(WindowWord::Day.next_ms(1_709_164_800_000)), "2024-03-01");
        assert_eq!(WindowWord::Hour.start(WindowWord::Hour.next_ms(1_709_211_600_000)), "2024-02-29 14:00");
    }
}
