//! The node's main task: takes what the ledger wants, and has it loaded and drawn, many at once and each account once.

use std::sync::Arc;
use std::time::Duration;

use tidegate_ledger::{AccountKey, Want};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::counters::Operation;
use super::draws::Then;
use super::line::Line;
use super::loads::BATCH;
use super::settings::NodeSettings;
use super::shared::Shared;
use super::window::Window;
use crate::layout::key::Key;
use crate::table::get::Freshness;

/// How often the node looks whether something is due.
const TICK: Duration = Duration::from_millis(250);
/// How often accounts are looked for that have something to give back or to tell.
const IDLE: Duration = Duration::from_secs(1);

/// How often it is looked for what has to go back, at a stop.
const RETURNS: u32 = 4;

/// A call has ended.
enum Ended {
    Drawn(AccountKey, Then),
    Loaded(Vec<AccountKey>, bool),
    Probed,
}

/// See the module.
pub(crate) struct Run {
    shared: Arc<Shared>,
    draws: Line<AccountKey>,
    window: Window,
    loads: Line<AccountKey>,
    /// Accounts that were loaded, and are looked at again.
    looks: Line<AccountKey>,
    /// Calls under way for these two.
    loading: [usize; 2],
    ended: mpsc::UnboundedReceiver<Ended>,
    ends: mpsc::UnboundedSender<Ended>,
    wants: Vec<Want>,
    keys: Vec<AccountKey>,
    is_probing: bool,
    next_idle: Instant,
    next_revalidation: Instant,
}

impl Run {
    pub(crate) fn new(shared: Arc<Shared>) -> Run {
        let settings = shared.settings;
        // Bounded by what is under way.
        let (ends, ended) = mpsc::unbounded_channel();
        let now = Instant::now();
        Run {
            draws: Line::new(settings.draws_at_once.max(1), settings.most_waiting),
            window: Window::new(settings.draws_at_once),
            loads: Line::new(most_loading(&settings), settings.most_waiting),
            looks: Line::new(most_loading(&settings), settings.most_waiting),
            loading: [0; 2],
            ended,
            ends,
            wants: Vec::new(),
            keys: Vec::new(),
            is_probing: false,
            next_idle: now + IDLE,
            next_revalidation: now + revalidation(&shared),
            shared,
        }
    }

    /// Works until the node is stopped.
    pub(crate) async fn until_stopped(&mut self) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let shared = Arc::clone(&self.shared);
        while !shared.is_stopping() {
            self.take_wants();
            self.start();
            tokio::select! {
                () = shared.wake.notified() => {}
                ended = self.ended.recv() => self.end(ended),
                _ = tick.tick() => self.look(),
            }
        }
    }

    /// Gives back all that is held, until `deadline`.
    pub(crate) async fn give_back(&mut self, deadline: Instant) {
        // What was under way may bring something that has to go back as well, and what has failed is tried again.
        for _ in 0..RETURNS {
            self.shared.ledger.holding(self.shared.now(), &mut self.keys);
            for key in self.keys.drain(..) {
                self.draws.want(key);
            }
            if self.draws.is_idle() {
                return;
            }
            while !self.draws.is_idle() {
                self.start_draws();
                match tokio::time::timeout_at(deadline, self.ended.recv()).await {
                    Ok(ended) => self.end(ended),
                    Err(_) => return self.left_behind(),
                }
            }
        }
        self.shared.ledger.holding(self.shared.now(), &mut self.keys);
        if !self.keys.is_empty() {
            self.left_behind();
        }
    }

    fn left_behind(&self) {
        let accounts = self.draws.running().max(self.keys.len());
        tracing::warn!(
            accounts,
            "the node stops before all it holds has gone back: that is lost until it is refilled"
        );
    }

    fn take_wants(&mut self) {
        self.shared.ledger.take_wanted(&mut self.wants);
        self.want_all();
        self.shared.take_returns(&mut self.keys);
        for key in self.keys.drain(..) {
            if !self.draws.want(key.clone()) {
                self.shared.returned(&key);
            }
        }
    }

    fn want_all(&mut self) {
        let now = self.shared.now();
        for want in self.wants.drain(..) {
            match want {
                Want::Load(key) => {
                    if !self.loads.want(key.clone()) {
                        self.shared.ledger.load_failed(&key, now + 1_000_000_000, now);
                    }
                }
                Want::Draw(key) => {
                    if !self.draws.want(key.clone())
                        && let Some(order) = self.shared.ledger.order(&key, now)
                    {
                        self.shared.ledger.draw_failed(&order, now + 1_000_000_000, now);
                    }
                }
            }
        }
    }

    fn start(&mut self) {
        self.start_draws();
        for again in [false, true] {
            let line = if again { &mut self.looks } else { &mut self.loads };
            let loading = &mut self.loading[usize::from(again)];
            while *loading < self.shared.settings.loads_at_once.max(1) {
                let keys: Vec<_> = std::iter::from_fn(|| line.next()).take(BATCH).collect();
                if keys.is_empty() {
                    break;
                }
                *loading += 1;
                let (shared, ends) = (Arc::clone(&self.shared), self.ends.clone());
                tokio::spawn(async move {
                    shared.load(&keys, again).await;
                    // Nobody listens after a stop.
                    ends.send(Ended::Loaded(keys, again)).unwrap_or_default();
                });
            }
        }
    }

    fn start_draws(&mut self) {
        while let Some(key) = self.draws.next() {
            let (shared, ends) = (Arc::clone(&self.shared), self.ends.clone());
            tokio::spawn(async move {
                let then = shared.draw(&key).await;
                ends.send(Ended::Drawn(key, then)).unwrap_or_default();
            });
        }
    }

    fn end(&mut self, ended: Option<Ended>) {
        match ended {
            Some(Ended::Drawn(key, then)) => {
                self.draws.done(&key);
                match then {
                    Then::Slow => self.window.unanswered(self.draws.running()),
                    Then::Nothing | Then::Load => self.window.answered(),
                }
                self.draws.set_most_running(self.window.size());
                if then == Then::Load {
                    self.loads.want(key);
                }
            }
            Some(Ended::Loaded(keys, again)) => {
                let line = if again { &mut self.looks } else { &mut self.loads };
                keys.iter().for_each(|key| line.done(key));
                self.loading[usize::from(again)] -= 1;
            }
            Some(Ended::Probed) => self.is_probing = false,
            None => {}
        }
    }

    /// What is due by the time.
    fn look(&mut self) {
        let now = Instant::now();
        if self.shared.is_down() && !self.is_probing {
            self.probe();
        }
        if now >= self.next_idle {
            self.next_idle = now + IDLE;
            self.shared.ledger.idle(self.shared.now(), &mut self.wants);
            self.want_all();
        }
        if now >= self.next_revalidation {
            self.next_revalidation = now + revalidation(&self.shared);
            let used = self.shared.ledger.used();
            for key in used.drawing {
                self.looks.want(key);
            }
            for key in used.bypassed {
                self.loads.want(key);
            }
        }
    }

    /// Asks whether the table answers again: refused callers ask for nothing.
    fn probe(&mut self) {
        self.is_probing = true;
        let (shared, ends) = (Arc::clone(&self.shared), self.ends.clone());
        tokio::spawn(async move {
            let result = shared.table.get(&Key::version(), Freshness::Eventual).await;
            shared.counters.called(Operation::Probe, &result);
            match result {
                Ok(_) => shared.answered(),
                Err(fault) => {
                    shared.failed(&fault);
                }
            }
            ends.send(Ended::Probed).unwrap_or_default();
        });
    }
}

/// Accounts that may be loaded at once.
fn most_loading(settings: &NodeSettings) -> usize {
    settings.loads_at_once.max(1) * BATCH
}

/// Twice as often as a change has to be seen, so that it is seen in time however long a look takes.
pub(crate) fn revalidation(shared: &Shared) -> Duration {
    Duration::from_millis((shared.table.settings().config_refresh_ms / 2).max(100))
}
