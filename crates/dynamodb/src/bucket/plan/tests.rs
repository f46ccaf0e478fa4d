//! Plans of single writes, from items as they are read.

use super::super::asked::Kept;
use super::super::attribute::Holder;
use super::super::cap::CAP_PACE_MS;
use super::super::image::Cap;
use super::super::write::expression;
use super::super::writer::Writer;
use super::*;

const NOW: i64 = 1_700_000_000_000;
const ME: Holder = Holder { node: 1, life: 1 };
const SECOND: Rate = Rate { capacity: 100_000, amount: 100_000, period_ms: 1000 };

fn rate(limit: &str, wish: Wish) -> Asked {
    Asked {
        limit: limit.into(),
        kind: Kind::Hard,
        bound: Kept::Rate(SECOND),
        soft: false,
        wish,
        consumed: 0,
        held: Outstanding::default(),
        gone: false,
    }
}

fn cap(most: i64, wish: Wish) -> Asked {
    Asked { kind: Kind::Cap, bound: Kept::Cap(most), ..rate("inflight", wish) }
}

/// Of whole tokens.
fn wish(need: u64, want: u64) -> Wish {
    Wish { need: need * 1000, want: want * 1000, ..Wish::default() }
}

/// Of slots.
fn slots(need: u64, want: u64) -> Wish {
    Wish { need, want, ..Wish::default() }
}

fn stored(limit: &str, tokens: i64) -> Stored {
    let (limit, kind) = (limit.to_owned(), Kind::Hard);
    Stored { limit, kind, rate: SECOND, tokens, remainder: 0, has_remainder: false }
}

fn image(limits: Vec<Stored>) -> Image {
    Image { refilled_ms: NOW, shards: Some(1), limits, ..Image::default() }
}

fn request(lines: &[Asked], now_ms: i64) -> Request<'_> {
    Request {
        lines,
        custom: false,
        cascade: false,
        owner: None,
        me: ME,
        sequence: 7,
        hold_ms: 3000,
        gone: &|holder| holder.node == 9,
        now_ms,
    }
}

#[test]
fn what_is_drawn_is_what_is_needed_and_some_more_or_nothing() {
    let image = image(vec![stored("a", 50_000), stored("b", 3_000)]);
    let lines = [rate("a", wish(1, 20)), rate("b", wish(5, 9))];
    let short = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((short.yields[0].got, short.yields[1].got, short.writes), (0, 0, false));
    assert_eq!((short.yields[0].ready_ms, short.yields[1].ready_ms), (None, Some(NOW + 20)));
    let paid = plan(&image, &request(&lines, NOW + 20)).unwrap();
    assert_eq!((paid.yields[0].got, paid.yields[1].got, paid.writes), (20_000, 5_000, true));
    assert_eq!((paid.rates[0].after.tokens, paid.rates[1].after.tokens), (32_000, 0));
}

#[test]
fn limits_that_nobody_asked_for_get_what_is_due_to_them() {
    let writes = Stored {
        rate: Rate { capacity: 1_000_000, amount: 1_000_000, period_ms: 1000 },
        ..stored("wcu", 5_000)
    };
    let image = image(vec![stored("a", 50_000), stored("other", 10_000), writes]);
    let lines = [rate("a", wish(1, 1))];
    let plan = plan(&image, &request(&lines, NOW + 100)).unwrap();
    let after = |limit| plan.rates.iter().find(|step| step.limit == limit).unwrap();
    assert_eq!(after("other").after.tokens, 20_000);
    // A tenth of a second of writes, less this one.
    assert_eq!((after("wcu").after.tokens, after("wcu").consumed), (104_000, 1000));
}

#[test]
fn the_time_of_refill_always_moves_on_and_a_late_clock_brings_nothing() {
    let image = image(vec![stored("a", 50_000)]);
    let lines = [rate("a", wish(1, 1))];
    for (now_ms, refilled_ms, tokens) in
        [(NOW - 500, NOW + 1, 49_000), (NOW, NOW + 1, 49_000), (NOW + 10, NOW + 10, 50_000)]
    {
        let plan = plan(&image, &request(&lines, now_ms)).unwrap();
        assert_eq!((plan.refilled_ms, plan.rates[0].after.tokens), (refilled_ms, tokens), "{now_ms}");
    }
}

#[test]
fn a_limit_that_was_changed_is_refilled_at_its_old_rate_until_now() {
    let slow =
        Stored { rate: Rate { capacity: 200_000, amount: 10_000, period_ms: 1000 }, ..stored("a", 90_000) };
    let image = image(vec![slow.clone(), Stored { limit: "b".into(), tokens: 195_000, ..slow }]);
    let lines = [rate("a", wish(1, 1)), rate("b", wish(0, 0))];
    let plan = plan(&image, &request(&lines, NOW + 100)).unwrap();
    // 1 in a tenth of a second; and what is above the new burst is gone.
    assert_eq!((plan.rates[0].after.tokens, plan.rates[1].after.tokens), (90_000, 100_000));
    assert_eq!(plan.rates[0].rate, Some(SECOND));
}

#[test]
fn a_limit_that_is_new_begins_full_and_one_that_has_gone_is_not_made() {
    let image = image(vec![]);
    let lines = [
        rate("a", wish(1, 1)),
        Asked { gone: true, ..rate("b", Wish { give_back: 3_000, ..Wish::default() }) },
    ];
    let plan = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((plan.rates.len(), plan.rates[0].after.tokens), (1, 99_000));
}

#[test]
fn of_a_split_bucket_only_a_share_is_there() {
    let image = Image { shards: Some(4), ..image(vec![stored("a", 25_000)]) };
    let lines = [rate("a", wish(60, 90))];
    let plan = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((plan.yields[0].got, plan.yields[0].ready_ms), (25_000, None));
}

#[test]
fn nothing_is_drawn_from_what_is_disabled_and_what_is_told_is_told() {
    let image = Image { disabled: true, ..image(vec![stored("a", 50_000)]) };
    let lines = [rate("a", Wish { give_back: 2_000, ..wish(1, 10) })];
    let plan = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((plan.yields[0].got, plan.yields[0].back, plan.writes), (0, 2_000, true));
    assert!(plan.yields[0].ready_ms.is_some());
}

#[test]
fn what_goes_back_leaves_room_for_what_other_nodes_hold() {
    let mut other = Writer::new(2, NOW * 1000);
    other.holds("a", Outstanding { held: 30_000, gone_ms: NOW + 100 });
    let image = Image { writers: vec![other], ..image(vec![stored("a", 50_000)]) };
    let lines = [rate("a", Wish { give_back: 40_000, ..Wish::default() })];
    // 100, less 50 there, less 10 that come in until the other holds nothing, less the 30 that it holds.
    assert_eq!(plan(&image, &request(&lines, NOW)).unwrap().yields[0].back, 10_000);
}

#[test]
fn slots_are_drawn_up_to_the_cap_and_those_of_the_dead_are_taken_over() {
    let holders = vec![(ME, 1), (Holder { node: 2, life: 1 }, 2), (Holder { node: 9, life: 4 }, 3)];
    let caps = vec![Cap { limit: "inflight".into(), out: Some(6), holders }];
    let image = Image { caps, ..image(vec![]) };
    let lines = [cap(6, slots(2, 5))];
    let plan = plan(&image, &request(&lines, NOW)).unwrap();
    let step = &plan.caps[0];
    assert_eq!((plan.yields[0].got, plan.yields[0].slots, plan.yields[0].left), (3, 4, 0));
    assert_eq!((step.change, step.at_most, step.held), (0, Some(6), (Some(1), 4)));
    assert_eq!(step.reclaimed, [(Holder { node: 9, life: 4 }, 3)]);
}

#[test]
fn slots_that_were_taken_over_do_not_go_back_twice() {
    for (held, left) in [(None, 3), (Some(1), 2), (Some(2), 1)] {
        let holders = held.map(|held| (ME, held)).into_iter().collect();
        let caps = vec![Cap { limit: "inflight".into(), out: Some(3), holders }];
        let image = Image { caps, ..image(vec![]) };
        let lines = [cap(4, Wish { give_back: 2, ..Wish::default() })];
        let plan = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((plan.caps[0].change, plan.caps[0].held.1), (left - 3, 0), "{held:?}");
        assert_eq!(plan.yields[0].slots, 0);
    }
}

#[test]
fn a_full_cap_holds_up_the_rates_and_a_short_rate_the_cap() {
    let caps = vec![Cap { limit: "inflight".into(), out: Some(2), holders: vec![] }];
    let image = Image { caps, ..image(vec![stored("a", 5_000)]) };
    let lines = [rate("a", wish(1, 5)), cap(2, slots(1, 1))];
    let full = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((full.yields[0].got, full.yields[1].got, full.writes), (0, 0, false));
    assert_eq!(full.yields[1].ready_ms, Some(NOW + CAP_PACE_MS));
    let lines = [rate("a", wish(6, 6)), cap(4, slots(1, 1))];
    let short = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((short.yields[1].got, short.yields[1].slots, short.caps[0].change), (0, 0, 0));
}

#[test]
fn a_limit_that_comes_back_has_what_was_put_aside_and_one_of_another_kind_moves() {
    for kind in [Kind::Aside, Kind::Own] {
        let image = image(vec![Stored { kind, ..stored("a", 30_000) }, stored("b", 50_000)]);
        let lines = [rate("a", wish(1, 20)), rate("b", wish(1, 1))];
        let moved = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((moved.yields[0].got, moved.yields[0].left), (20_000, 10_000), "{kind:?}");
        let [step, _] = &moved.rates[..] else { panic!("{:?}", moved.rates) };
        assert_eq!((step.kind, step.stored, step.after.tokens), (Kind::Hard, None, 10_000));
        let update = expression(&image, &moved, &request(&lines, NOW));
        let names = update.names().unwrap();
        let removed = update.update().unwrap();
        let (_, removed) = removed.split_once("REMOVE ").unwrap();
        let removed: Vec<_> = removed.split(", ").map(|alias| &*names[alias]).collect();
        assert_eq!(removed, attribute::FIELDS.map(|field| attribute::field(kind, "a", field)));
        // Whoever took from it meanwhile has it planned again.
        let level = names.iter().find(|(_, name)| **name == attribute::field(kind, "a", "tk")).unwrap().0;
        assert!(update.condition().unwrap().contains(&format!("{level} = ")));
    }
}

#[test]
fn what_was_put_aside_goes_if_others_have_made_the_limit_anew() {
    let image = image(vec![Stored { kind: Kind::Aside, ..stored("a", 30_000) }, stored("a", 90_000)]);
    let lines = [rate("a", wish(1, 20))];
    let plan = plan(&image, &request(&lines, NOW)).unwrap();
    let [step] = &plan.rates[..] else { panic!("{:?}", plan.rates) };
    assert_eq!((step.after.tokens, step.stored.unwrap().tokens), (70_000, 90_000));
    assert_eq!(step.moved.unwrap().kind, Kind::Aside);
}

#[test]
fn what_goes_back_to_a_limit_that_has_gone_goes_where_it_was_put() {
    let image = image(vec![Stored { kind: Kind::Aside, ..stored("a", 30_000) }]);
    let lines = [Asked { gone: true, ..rate("a", Wish { give_back: 5_000, ..Wish::default() }) }];
    let plan = plan(&image, &request(&lines, NOW)).unwrap();
    assert_eq!((plan.rates[0].kind, plan.rates[0].after.tokens), (Kind::Aside, 35_000));
    assert!(plan.rates[0].stored.is_some() && plan.rates[0].moved.is_none() && plan.rates.len() == 1);
}

#[test]
fn what_is_not_understood_is_left_alone() {
    let image = Image { unsupported: Some("sched".into()), ..image(vec![]) };
    assert_eq!(plan(&image, &request(&[], NOW)), Err(Unsupported("sched".into())));
}
