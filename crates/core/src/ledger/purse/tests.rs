//! A purse, by a hand-driven clock.

use super::*;

const START: Nanos = 1_700_000_000 * NANOS_PER_S;
const MS: u64 = NANOS_PER_S / 1000;
const PACE: Pace =
    Pace { ahead_ns: NANOS_PER_S, between_ns: 250 * MS, idle_ns: 2 * NANOS_PER_S, hold_ns: 3 * NANOS_PER_S };

fn rate(per_s: u64) -> Bound {
    Bound::Rate(Limit::per_second(per_s).unwrap())
}

fn draw(purse: &mut Purse, bound: &Bound, got: u64, left: i64, now: Nanos) -> Told {
    let told = purse.wish(bound, 0, false, &PACE, now);
    let (got, left) = (got * 1000, left * 1000);
    let drawn = Drawn { got, decays_from: now + NANOS_PER_S, left, ..Drawn::default() };
    purse.drawn(bound, &told.wish, &drawn, &PACE, now);
    told
}

#[test]
fn what_is_short_is_needed_and_what_was_drawn_is_spent() {
    let (bound, mut purse) = (rate(100), Purse::default());
    assert_eq!(purse.ready(&bound, 0, 101, START), Some(Ready::Never));
    assert_eq!(purse.ready(&bound, 0, 5, START), None);
    assert_eq!(purse.ready(&bound, 0, 3, START), None);
    let told = draw(&mut purse, &bound, 8, 92, START);
    assert_eq!((told.wish.need, told.wish.want), (5_000, 8_000));
    assert_eq!(purse.ready(&bound, 0, 8, START), Some(Ready::Now));
    purse.take(&bound, 8, START);
    assert_eq!((purse.available(&bound, 0, START), purse.ready(&bound, 0, 1, START)), (92, None));
    assert_eq!(purse.wish(&bound, 0, false, &PACE, START).consumed, 8);
}

#[test]
fn a_denial_is_remembered_until_it_could_pass() {
    let (bound, mut purse) = (rate(100), Purse::default());
    purse.ready(&bound, 0, 50, START);
    let told = purse.wish(&bound, 0, false, &PACE, START);
    let ready = START + 400 * MS;
    let drawn = Drawn { left: 10_000, ready: Some(ready), ..Drawn::default() };
    purse.drawn(&bound, &told.wish, &drawn, &PACE, START);
    assert_eq!(purse.ready(&bound, 0, 50, START + 300 * MS), Some(Ready::At(ready)));
    // Less may be there sooner.
    assert_eq!(purse.ready(&bound, 0, 1, START + 100 * MS), None);
    assert_eq!(purse.ready(&bound, 0, 60, ready), None);
    // Whoever is busy does not ask at once.
    (0..8).for_each(|_| purse.take(&bound, 2, START));
    let told = purse.wish(&bound, 0, false, &PACE, START);
    purse.drawn(&bound, &told.wish, &Drawn { ready: Some(START + MS), left: 500, ..drawn }, &PACE, START);
    assert_eq!(purse.ready(&bound, 0, 1, START + 100 * MS), Some(Ready::At(START + 250 * MS)));
    assert_eq!(purse.ready(&bound, 0, 1, START + 250 * MS), None);
}

#[test]
fn debt_and_refunds_are_told_once_and_come_back_if_the_write_fails() {
    let (bound, mut purse) = (rate(100), Purse::default());
    draw(&mut purse, &bound, 10, 90, START);
    purse.take(&bound, 25, START);
    let told = purse.wish(&bound, 0, false, &PACE, START);
    assert_eq!((told.wish.debt, told.wish.give_back, told.consumed), (15_000, 0, 25));
    purse.failed(&bound, &told, false, START);
    purse.give(20);
    let told = purse.wish(&bound, 0, false, &PACE, START);
    assert_eq!((told.wish.debt, told.wish.give_back, told.consumed), (0, 5_000, 5));
    purse.failed(&bound, &told, true, START);
    let told = purse.wish(&bound, 0, false, &PACE, START);
    assert_eq!((told.wish.debt, told.wish.give_back, told.consumed), (0, 0, 5));
    assert!(!purse.holds(&bound, 0, START));
}

#[test]
fn what_is_on_its_way_is_still_there() {
    let (bound, mut purse) = (rate(100), Purse::default());
    draw(&mut purse, &bound, 10, 90, START);
    purse.take(&bound, 4, START);
    let told = purse.wish(&bound, 0, true, &PACE, START);
    assert_eq!((told.wish.give_back, purse.available(&bound, 0, START)), (6_000, 96));
    purse.failed(&bound, &told, false, START);
    assert_eq!(purse.available(&bound, 0, START), 96);
    let told = purse.wish(&bound, 0, true, &PACE, START);
    purse.take(&bound, 1, START);
    assert_eq!(purse.available(&bound, 0, START), 95);
    purse.drawn(&bound, &told.wish, &Drawn { left: 96_000, ..Drawn::default() }, &PACE, START);
    assert_eq!(purse.available(&bound, 0, START), 95);
    // What is owed, too; and slots.
    let told = purse.wish(&bound, 0, true, &PACE, START);
    assert_eq!((told.wish.debt, purse.available(&bound, 0, START)), (1_000, 95));
    let (cap, mut purse) = (Bound::Concurrency(5), Purse { slots: 3, ..Purse::default() });
    purse.seen(Some(2), START);
    purse.wish(&cap, 1, true, &PACE, START);
    assert_eq!((purse.slots, purse.available(&cap, 1, START)), (1, 4));
}

#[test]
fn what_is_too_late_to_be_spent_goes_back_whoever_takes_or_looks_meanwhile() {
    let (bound, mut purse) = (rate(100), Purse::default());
    draw_until_full(&mut purse, &bound, 10, START + 60 * NANOS_PER_S);
    let late = START + PACE.hold_ns;
    purse.seen(Some(20_000), late);
    assert!(purse.is_due(&bound, 0, &PACE, late));
    purse.take(&bound, 0, late);
    purse.take(&bound, 3, late);
    let told = purse.wish(&bound, 0, true, &PACE, late);
    assert_eq!((told.wish.give_back, told.wish.debt), (10_000, 3_000));
}

/// Draws from a source that could not be full before then.
fn draw_until_full(purse: &mut Purse, bound: &Bound, got: u64, decays_from: Nanos) {
    let told = purse.wish(bound, 0, false, &PACE, START);
    let drawn = Drawn { got: got * 1000, decays_from, ..Drawn::default() };
    purse.drawn(bound, &told.wish, &drawn, &PACE, START);
}

#[test]
fn a_refund_is_not_spent_here() {
    let (bound, mut purse) = (rate(100), Purse::default());
    draw(&mut purse, &bound, 10, 90, START);
    purse.take(&bound, 10, START);
    purse.give(10);
    assert_eq!(purse.ready(&bound, 0, 1, START), None);
    assert_eq!(purse.available(&bound, 0, START), 100);
}

#[test]
fn a_busy_limit_is_drawn_ahead_of_need_and_an_idle_one_goes_back() {
    let (bound, mut purse) = (rate(1000), Purse::default());
    let mut now = START;
    draw(&mut purse, &bound, 1000, 0, now);
    let mut low_at = None;
    for _ in 0..990 {
        purse.take(&bound, 1, now);
        now += MS;
        if low_at.is_none() && purse.runs_low(&bound, &PACE, now) {
            low_at = Some(purse.slices.held(&Limit::per_second(1000).unwrap(), now));
        }
    }
    // What is spent in the least time that is taken for a draw.
    assert!(low_at.is_some_and(|held| (20_000..=25_000).contains(&held)), "{low_at:?}");
    let want = purse.wish(&bound, 0, false, &PACE, now).wish.ahead;
    assert!((800_000..=1_000_000).contains(&want), "{want}");
    let drawn = Drawn { got: 500_000, decays_from: now + 3 * NANOS_PER_S, ..Drawn::default() };
    purse.drawn(&bound, &Wish { want: 500_000, ..Wish::default() }, &drawn, &PACE, now);
    assert!(!purse.is_due(&bound, 0, &PACE, now + NANOS_PER_S));
    now += 2 * NANOS_PER_S;
    assert!(purse.is_due(&bound, 0, &PACE, now));
    assert_eq!(purse.wish(&bound, 0, true, &PACE, now).wish.give_back, 500_000);
    assert!(!purse.holds(&bound, 0, now));
}

#[test]
fn a_slow_table_is_asked_sooner() {
    let limit = Limit::per_second(1000).unwrap();
    let (bound, mut purse, mut now) = (rate(1000), Purse::default(), START);
    let told = purse.wish(&bound, 0, false, &PACE, now);
    now += 20 * MS;
    let drawn = Drawn { got: 1_000_000, decays_from: now + NANOS_PER_S, ..Drawn::default() };
    purse.drawn(&bound, &told.wish, &drawn, &PACE, now);
    while !purse.runs_low(&bound, &PACE, now) {
        purse.take(&bound, 1, now);
        now += MS;
    }
    // Four times as long as the draw took.
    assert!((60_000..=80_000).contains(&purse.slices.held(&limit, now)));
}

#[test]
fn who_is_short_again_at_once_draws_more_each_time() {
    let (bound, mut purse, mut now) = (rate(1000), Purse::default(), START);
    let mut short_by_one = |after_ns: u64| {
        now += after_ns;
        let held = purse.slices.held(&Limit::per_second(1000).unwrap(), now) / 1000;
        purse.take(&bound, held, now);
        assert_eq!(purse.ready(&bound, 0, 1, now), None);
        let wish = purse.wish(&bound, 0, false, &PACE, now).wish;
        let drawn = Drawn { got: wish.want, decays_from: now, left: 900_000, ..Drawn::default() };
        purse.drawn(&bound, &wish, &drawn, &PACE, now);
        wish.want / 1000
    };
    assert_eq!([0, 1, 1, 1].map(|ms| short_by_one(ms * MS)), [1, 16, 256, 1000]);
    assert_eq!(short_by_one(250 * MS), 1);
}

#[test]
fn slots_are_drawn_and_idle_ones_go_back() {
    let (cap, mut purse) = (Bound::Concurrency(10), Purse::default());
    assert_eq!(purse.ready(&cap, 0, 2, START), None);
    let told = purse.wish(&cap, 0, false, &PACE, START);
    assert_eq!((told.wish.need, told.wish.want, told.wish.debt), (2, 2, 0));
    let drawn = Drawn { got: 2, left: 3, slots: 2, ..Drawn::default() };
    purse.drawn(&cap, &told.wish, &drawn, &PACE, START);
    assert_eq!((purse.ready(&cap, 0, 2, START), purse.ready(&cap, 1, 2, START)), (Some(Ready::Now), None));
    assert_eq!(purse.available(&cap, 1, START), 4);
    let told = purse.wish(&cap, 1, true, &PACE, START);
    assert_eq!((told.wish.give_back, purse.slots), (1, 1));
    // A restart has lost what is in use: it is taken again.
    purse.slots = 0;
    assert_eq!(purse.wish(&cap, 1, false, &PACE, START).wish.debt, 1);
}

#[test]
fn a_changed_rate_gives_back_what_is_held() {
    let (old, new, mut purse) = (rate(100), rate(10), Purse::default());
    draw(&mut purse, &old, 50, 50, START);
    purse.change(&old, &new, START);
    assert_eq!(purse.ready(&new, 0, 1, START), None);
    assert_eq!(purse.wish(&new, 0, false, &PACE, START).wish.give_back, 50_000);
}

#[test]
fn what_was_drawn_from_a_source_that_is_gone_is_gone_with_it() {
    let (bound, mut purse) = (rate(100), Purse::default());
    purse.ready(&bound, 0, 40, START);
    draw(&mut purse, &bound, 40, 60, START);
    purse.take(&bound, 60, START);
    purse.give(5);
    purse.forget(&bound);
    assert!(!purse.holds(&bound, 0, START));
    // What comes in its place is full, and only a draw gives any of it.
    assert_eq!((purse.available(&bound, 0, START), purse.ready(&bound, 0, 1, START)), (100, None));
    // It has no room for what comes back of the old one, but for what was taken since.
    purse.take(&bound, 3, START);
    purse.give(5);
    assert!(purse.wish(&bound, 0, false, &PACE, START).wish.give_back == 0);
    assert_eq!(purse.available(&bound, 0, START), 100);
    draw(&mut purse, &bound, 1, 99, START);
    purse.give(5);
    assert_eq!(purse.wish(&bound, 0, false, &PACE, START).wish.give_back, 5_000);
    let (cap, mut purse) = (Bound::Concurrency(3), Purse { slots: 2, ..Purse::default() });
    purse.seen(Some(1), START);
    purse.forget(&cap);
    assert_eq!((purse.slots, purse.available(&cap, 2, START)), (2, 1));
}

#[test]
fn what_is_known_of_the_source_outlives_a_change() {
    let (old, new, mut purse) = (rate(100), rate(1000), Purse::default());
    purse.change(&old, &new, START);
    assert_eq!(purse.available(&new, 0, START), 1000, "never taken from, so full");
    let mut purse = Purse::default();
    draw(&mut purse, &old, 40, 20, START);
    purse.take(&old, 10, START);
    // 20 are there, 30 go back, and half a second has brought 50.
    let later = START + NANOS_PER_S / 2;
    purse.change(&old, &new, later);
    assert_eq!(purse.available(&new, 0, later), 100);
    assert_eq!(purse.available(&new, 0, later + 100 * MS), 200);
    purse.change(&new, &rate(5), later);
    assert_eq!(purse.available(&rate(5), 0, later), 5);
    let (three, five) = (Bound::Concurrency(3), Bound::Concurrency(5));
    let mut purse = Purse { slots: 1, ..Purse::default() };
    purse.seen(Some(0), START);
    assert_eq!(purse.available(&three, 1, START), 0, "the others have two");
    purse.change(&three, &five, START);
    assert_eq!(purse.available(&five, 1, START), 2);
    purse.change(&five, &old, START);
    assert_eq!(purse.available(&old, 0, START), 100, "slots tell nothing of tokens");
}

#[test]
fn a_purse_that_knows_of_a_drained_source_has_something_to_tell() {
    let (bound, mut purse) = (rate(100), Purse::default());
    assert!(!purse.tells(&bound, 0, START));
    purse.seen(Some(99_000), START);
    assert!(purse.tells(&bound, 0, START) && !purse.holds(&bound, 0, START));
    assert!(!purse.tells(&bound, 0, START + 10 * MS), "it is full again");
    purse.seen(None, START);
    assert!(!purse.tells(&bound, 0, START));
}
