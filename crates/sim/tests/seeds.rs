//! Seeds, each a run of its own: nothing happens that must not, and the same seed gives the same trace.

use tidegate_sim::{Options, run};

const STEPS: u64 = 300;

fn check(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(failure) = run(Options { seed, steps: STEPS, trace: false }) {
            // Once more, to show what happened before.
            let told = run(Options { trace: true, ..failure.options }).err().map(|again| again.lines);
            let lines = told.unwrap_or_default();
            let last = &lines[lines.len().saturating_sub(100)..];
            panic!("{}\n\n{failure}", last.join("\n"));
        }
    }
}

// Two halves, for two cores.

#[test]
fn the_first_hundred_seeds() {
    check(0..100);
}

#[test]
fn the_second_hundred_seeds() {
    check(100..200);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..20 {
        let hash = || run(Options { seed, steps: STEPS, trace: false }).map(|summary| summary.hash).ok();
        let first = hash();
        assert_eq!(first, hash(), "seed {seed}");
    }
}

/// An acquire may have the number of a message that a crash has lost, so a number does not tell which it is.
#[test]
fn an_acquire_in_line_is_not_taken_for_a_message() {
    let is_told = |seed| {
        let lines = run(Options { seed, steps: STEPS, trace: true }).map(|summary| summary.lines);
        let is_paid = |line: &String| line.starts_with("  an acquire is paid for at ");
        lines.is_ok_and(|lines| lines.iter().any(is_paid))
    };
    assert!((0..20).any(is_told));
}
