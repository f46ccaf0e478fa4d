//! Deciding at a stretch, on one or more threads.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cpu::CpuClock;
use crate::row::Figures;

/// Decisions between two looks at the clock.
const CHUNK: usize = 8192;

/// What the threads of a stretch did.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    decisions: u64,
    elapsed: Duration,
    cpu: Duration,
}

/// Runs `decide` on every thread for that long. It is given numbers out of the thread's own list, over and
/// over, and says whether the decision was to allow; a refusal is an error, since another path was measured.
pub fn run(numbers: &[Vec<u32>], lasting: Duration, decide: impl Fn(u32) -> bool + Sync) -> Result<Figures> {
    let start = Barrier::new(numbers.len());
    let done: Vec<Result<Done>> = std::thread::scope(|scope| {
        let threads: Vec<_> = numbers
            .iter()
            .map(|numbers| {
                scope.spawn(|| {
                    start.wait();
                    decide_for(lasting, numbers, &decide)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().ok().context("a thread failed")?).collect()
    });
    Ok(figures(&done.into_iter().collect::<Result<Vec<Done>>>()?))
}

/// The same on this thread only, for state that is not shared.
pub fn run_alone(numbers: &[u32], lasting: Duration, decide: impl FnMut(u32) -> bool) -> Result<Figures> {
    Ok(figures(&[decide_for(lasting, numbers, decide)?]))
}

fn figures(done: &[Done]) -> Figures {
    let decisions: u64 = done.iter().map(|done| done.decisions).sum();
    let cpu: Duration = done.iter().map(|done| done.cpu).sum();
    let ops_per_s = done.iter().map(|done| done.decisions as f64 / done.elapsed.as_secs_f64()).sum();
    let cpu_us_per_op = Some(cpu.as_secs_f64() * 1e6 / decisions as f64);
    Figures { ops_per_s: Some(ops_per_s), cpu_us_per_op, ..Figures::default() }
}

fn decide_for(lasting: Duration, numbers: &[u32], mut decide: impl FnMut(u32) -> bool) -> Result<Done> {
    let (start, cpu) = (Instant::now(), CpuClock::of_this_thread().read()?);
    let mut done = Done::default();
    for chunk in numbers.chunks(CHUNK).cycle() {
        let allowed = chunk.iter().filter(|&&number| decide(number)).count();
        if allowed != chunk.len() {
            bail!("{} of {} decisions were refusals", chunk.len() - allowed, chunk.len());
        }
        done.decisions += chunk.len() as u64;
        done.elapsed = start.elapsed();
        if done.elapsed >= lasting {
            break;
        }
    }
    done.cpu = CpuClock::of_this_thread().read()? - cpu;
    Ok(done)
}

/// The faster of two runs of the same thing: what disturbed the other was not the code.
pub fn faster(best: Option<Figures>, next: Figures) -> Figures {
    match best {
        Some(best) if best.ops_per_s >= next.ops_per_s => best,
        _ => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_error() {
        let numbers = [vec![0, 1, 2]];
        assert!(run(&numbers, Duration::ZERO, |number| number != 2).is_err());
        assert!(run(&numbers, Duration::ZERO, |_| true).unwrap().ops_per_s > Some(0.0));
    }

    #[test]
    fn the_faster_run_stands() {
        let ops = |ops_per_s| Figures { ops_per_s: Some(ops_per_s), ..Figures::default() };
        assert_eq!(faster(None, ops(1.0)), ops(1.0));
        assert_eq!(faster(Some(ops(1.0)), ops(2.0)), ops(2.0));
        assert_eq!(faster(Some(ops(3.0)), ops(2.0)), ops(3.0));
    }
}
