//! A progress bar on stderr, only where there is a terminal to draw it on.

use std::convert::Infallible;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use tidegate_client::load::{Progress, Stop};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Often enough to look alive, seldom enough to cost the load nothing.
const REDRAW: Duration = Duration::from_millis(100);

/// The bar of one run. It is wiped when dropped, so that only the report stays.
pub struct Bar {
    bar: ProgressBar,
    stop: Stop,
}

impl Bar {
    /// A bar that is full when it is enough. Where stderr is not a terminal, it draws nothing.
    pub fn new(stop: Stop) -> Bar {
        let length = match stop {
            Stop::Requests(requests) => requests,
            Stop::After(duration) => duration.as_millis() as u64,
        };
        let style = ProgressStyle::with_template("{bar:40} {percent:>3}%  {msg}")
            .expect("the template is well formed");
        Bar { bar: ProgressBar::new(length).with_style(style), stop }
    }

    /// Draws `progress` until it is no longer polled.
    pub async fn follow(&self, progress: Progress) -> Infallible {
        let start = Instant::now();
        let mut redraw = interval(REDRAW);
        redraw.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            redraw.tick().await;
            let (requests, elapsed) = (progress.requests(), start.elapsed());
            self.bar.set_position(match self.stop {
                Stop::Requests(_) => requests,
                Stop::After(_) => elapsed.as_millis() as u64,
            });
            let per_s = (requests as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
            self.bar.set_message(format!("{} requests, {}/s", HumanCount(requests), HumanCount(per_s)));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
