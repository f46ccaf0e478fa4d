//! Hooks behind their breaker, and the threads that run them.

use std::sync::{Arc, mpsc};

use tidegate_hooks::guarded::{Guarded, Setup};
use tidegate_hooks::{Answer, EnqueueInput, EnqueueVerdict, Hooks, Pool, Reason, Trouble};

use crate::scene::patient;

const S: u64 = 1_000_000_000;

fn setup(on_enqueue: &str) -> Setup {
    Setup { hooks: Hooks::new(Some(on_enqueue), None), bounds: patient(), config: Arc::new(()) }
}

fn ask(queue: &mut Guarded, header: &str, now: u64) -> Answer<EnqueueVerdict> {
    queue
        .on_enqueue(&EnqueueInput { queue: "q", headers: &[(b"h", header.as_bytes())], payload_size: 0 }, now)
}

fn told(answer: &Answer<EnqueueVerdict>) -> String {
    match &answer.trouble {
        None => format!("weight {}", answer.verdict.weight.unwrap()),
        Some(trouble) => {
            assert_eq!(answer.verdict, EnqueueVerdict::default());
            match trouble {
                Trouble::Failed { failure, opened } => format!("{} {opened}", failure.reason.word()),
                Trouble::Bypassed => "bypassed".to_owned(),
            }
        }
    }
}

#[test]
fn three_failures_bypass_a_script_for_ten_seconds() {
    let mut queue = Guarded::new(setup(
        "function on_enqueue(m) if m.headers.h == 'bad' then error('x') end return { weight = 5 } end",
    ));
    let calls = [
        ("bad", 0, "raised false"),
        ("bad", 1, "raised false"),
        ("good", 2, "weight 5"),
        ("bad", 3, "raised false"),
        ("bad", 4, "raised false"),
        ("bad", 5, "raised true"),
        ("good", 6, "bypassed"),
        ("good", 10 * S, "bypassed"),
        ("bad", 10 * S + 5, "raised true"),
        ("good", 20 * S, "bypassed"),
        ("good", 20 * S + 5, "weight 5"),
        ("bad", 20 * S + 6, "raised false"),
    ];
    for (header, now, expected) in calls {
        assert_eq!(told(&ask(&mut queue, header, now)), expected, "at {now}");
    }
}

#[test]
fn a_script_that_cannot_be_loaded_fails_no_message() {
    let mut queue = Guarded::new(setup("this is not Lua"));
    let told: Vec<_> = (0..4).map(|now| told(&ask(&mut queue, "", now))).collect();
    assert_eq!(told, ["syntax false", "syntax false", "syntax true", "bypassed"]);
}

#[test]
fn after_running_out_of_memory_a_script_starts_afresh() {
    let script =
        "kept = {} function on_enqueue() kept[#kept + 1] = ('x'):rep(3e5) return { weight = #kept } end";
    let mut queue = Guarded::new(setup(script));
    let told: Vec<_> = (0..5).map(|now| told(&ask(&mut queue, "", now))).collect();
    assert_eq!(told, ["weight 1", "weight 2", "weight 3", "memory false", "weight 1"]);
}

/// Asks a queue of the pool, and hands the answer to the channel.
fn send(pool: &Pool, queue_key: u64, version: u64, script: &str, answers: &mpsc::Sender<(u64, String)>) {
    let (setup, answers) = (setup(script), answers.clone());
    pool.run(
        queue_key,
        Box::new(move |sandboxes| {
            let answer = ask(sandboxes.get(queue_key, version, || setup), "", 0);
            answers.send((queue_key, told(&answer))).unwrap();
        }),
    );
}

#[test]
fn a_failing_script_does_not_touch_other_queues() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = mpsc::channel();
    for queue in [1, 2, 1, 2, 1, 2, 1, 2] {
        let script = if queue == 1 {
            "function on_enqueue() while true do end end"
        } else {
            "n = 0 function on_enqueue() n = n + 1 return { weight = n } end"
        };
        send(&pool, queue, 1, script, &sender);
    }
    drop(pool);
    let mut answers: Vec<_> = receiver.try_iter().collect();
    answers.sort_by_key(|(queue, _)| *queue);
    let words: Vec<_> = answers.iter().map(|(_, word)| word.as_str()).collect();
    assert_eq!(words[4..], ["weight 1", "weight 2", "weight 3", "weight 4"]);
    assert!(
        words[..4].iter().all(|word| word.starts_with("instructions") || *word == "bypassed"),
        "{words:?}"
    );
}

#[test]
fn a_new_version_is_loaded_and_a_queue_that_was_forgotten_starts_afresh() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = mpsc::channel();
    let script = "n = 0 function on_enqueue() n = n + 1 return { weight = n } end";
    send(&pool, 1, 1, script, &sender);
    send(&pool, 1, 1, script, &sender);
    send(&pool, 1, 2, "function on_enqueue() return { weight = 77 } end", &sender);
    send(&pool, 1, 3, script, &sender);
    pool.forget(1);
    send(&pool, 1, 3, script, &sender);
    drop(pool);
    let answers: Vec<_> = receiver.try_iter().map(|(_, word)| word).collect();
    assert_eq!(answers, ["weight 1", "weight 2", "weight 77", "weight 1", "weight 1"]);
}

#[test]
fn a_job_that_panics_does_not_end_its_thread() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.run(1, Box::new(|_| panic!("a bug in the caller's job, on purpose")));
    send(&pool, 1, 1, "function on_enqueue() return { weight = 4 } end", &sender);
    assert_eq!(receiver.recv().unwrap(), (1, "weight 4".to_owned()));
}

#[test]
fn jobs_of_a_queue_keep_their_order_when_it_moves() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = mpsc::channel();
    // The clock of these bounds never ends a call, so each takes long enough to be a slow one.
    let script = "function on_enqueue() for i = 1, 3e6 do end return { weight = 1 } end";
    let bounds = tidegate_hooks::Bounds { instructions: u64::MAX, ..patient() };
    for number in 0..6_u64 {
        let (sender, setup) = (sender.clone(), Setup { bounds, ..setup(script) });
        pool.run(
            1,
            Box::new(move |sandboxes| {
                let answer = ask(sandboxes.get(1, 1, || setup), "", 0);
                let thread = std::thread::current().name().map(str::to_owned);
                sender.send((number, answer.verdict.weight, thread)).unwrap();
            }),
        );
    }
    drop(pool);
    let jobs: Vec<_> = receiver.try_iter().collect();
    assert_eq!(jobs.iter().map(|job| job.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(jobs.iter().all(|job| job.1 == Some(1)));
    assert_eq!(jobs[0].2.as_deref(), Some("hooks-0"));
    assert_eq!(jobs[5].2.as_deref(), Some("hooks-slow"));
}

#[test]
fn reasons_have_words() {
    assert_eq!(Reason::NoFunction.word(), "no_function");
}
