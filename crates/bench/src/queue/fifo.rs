//! A queue of many flows beside one that is a plain FIFO, since it has a single flow: what does fairness cost?
//!
//! The two take turns in short stretches on one server, as the difference that is looked for is smaller than what the
//! machine moves within seconds.

use anyhow::{Context, Result};

use super::broker::tidegate::{Keys, Shape};
use super::load::{Cost, Life};
use super::plan::{BODY_LEN, Plan};
use super::round::Round;
use super::stage::{Stage, plain_queue};
use super::system::TIDEGATE;
use crate::peers::Tidegate;
use crate::row::{Figures, Series};
use crate::spread::Spread;

/// Flows of the queue that has many.
const FLOWS: u64 = 1_000;
const PAIRS: usize = 4;

/// The queue with many flows.
pub const FAIR: &str = "life, 1,000 flows";
/// The queue with one.
pub const PLAIN: &str = "life, one flow (FIFO)";

/// Both once.
pub fn run(round: &mut Round<'_>) {
    round.announce(&format!("{FAIR} and {PLAIN}: {TIDEGATE}"));
    let (fair, plain) = match compare(round.plan, round.stage) {
        Ok((fair, plain)) => (Ok(fair), Ok(plain)),
        Err(error) => {
            let again = anyhow::anyhow!("{error:#}");
            (Err(error), Err(again))
        }
    };
    round.record(Series::new(TIDEGATE, FAIR), fair);
    round.record(Series::new(TIDEGATE, PLAIN), plain);
}

fn compare(plan: &Plan, stage: &Stage) -> Result<(Figures, Figures)> {
    let server = stage.fresh_tidegate()?;
    // Both send a key of the same length.
    let queue =
        |name, flows| plain_queue(&server, name, Shape::plain(BODY_LEN).with_keys(Keys::Random(flows)));
    let queues = [queue("fair", FLOWS)?, queue("fifo", 1)?];
    let life = Life { pairs: PAIRS, lasting: plan.lasting / 2 };
    for queue in &queues {
        life.run(queue).context("warm-up")?;
    }
    let mut figures: [Vec<Figures>; 2] = [Vec::new(), Vec::new()];
    for stretch in 0..2 * plan.stretches {
        // Fair, plain, plain, fair: neither always follows the other.
        let which = [0, 1, 1, 0][stretch % 4];
        figures[which].push(Cost::of_life(&server.process, &queues[which], life)?);
    }
    let [fair, plain] = figures;
    Ok((middle(&fair, &server)?, middle(&plain, &server)?))
}

fn middle(stretches: &[Figures], server: &Tidegate) -> Result<Figures> {
    let median = |figure: fn(&Figures) -> Option<f64>| {
        Spread::of(stretches.iter().filter_map(figure)).map(|spread| spread.median)
    };
    Ok(Figures {
        ops_per_s: median(|figures| figures.ops_per_s),
        cpu_us_per_op: median(|figures| figures.cpu_us_per_op),
        rss_bytes: Some(server.process.rss_bytes()? as f64),
        ..Figures::default()
    })
}
