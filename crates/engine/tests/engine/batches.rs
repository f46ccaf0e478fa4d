//! Operations that arrive together.

use crate::harness::{Bench, Out, payloads};
use serde_json::json;
use tidegate_engine::{Cost, Enqueue, Op, Refused, Task};

#[test]
fn acks_of_one_operation_have_an_outcome_each_in_order() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    for payload in ["a", "b", "c", "d"] {
        bench.enqueue("q", payload);
    }
    let got = bench.receive("q", 4);
    let queue = bench.queue_id("q");
    bench.ack("q", got[1].receipt).unwrap();
    let mut ops = Vec::new();
    got.iter().for_each(|got| Op::ack(&mut ops, queue, got.receipt, Cost::new()));
    assert_eq!(ops.len(), 1);
    ops.push(Op::Enqueue(bench.message("q", "e")));
    Op::ack(&mut ops, queue, got[0].receipt, Cost::new());
    let reply = bench.submit(ops);
    bench.settle();
    let outcomes = bench.reply(reply).expect("an answer");
    let gone = |nth: usize| Some(Refused::MessageNotFound(got[nth].receipt.id));
    let refused: Vec<_> = outcomes.iter().map(|outcome| outcome.refused().cloned()).collect();
    assert_eq!(refused, [None, gone(1), None, None, None, gone(0)]);
    assert!(matches!(outcomes[4], Out::Enqueued(_)));
    assert_eq!(payloads(&bench.receive("q", 9)), ["e"]);
}

#[test]
fn acks_at_different_costs_are_different_operations() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.create("other", json!({}));
    let receipt = |bench: &mut Bench, queue| {
        bench.enqueue(queue, "a");
        bench.receive(queue, 1)[0].receipt
    };
    let [q, other] = ["q", "other"].map(|name| bench.queue_id(name));
    let (one, two, three) =
        (receipt(&mut bench, "q"), receipt(&mut bench, "q"), receipt(&mut bench, "other"));
    let mut ops: Vec<Op<()>> = Vec::new();
    Op::ack(&mut ops, q, one, Cost::new());
    Op::ack(&mut ops, q, two, vec![("tpm".into(), 7)]);
    Op::ack(&mut ops, other, three, vec![("tpm".into(), 7)]);
    assert_eq!(ops.iter().map(Op::outcomes).collect::<Vec<_>>(), [1, 1, 1]);
}

/// With many flows a batch is looked through before its first message comes in.
#[test]
fn a_refused_message_moves_no_other_into_its_flow() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.create("full", json!({"max_depth": 1}));
    let in_flow =
        |message: Enqueue, flow: usize| Op::Enqueue(Enqueue { flow: (&format!("{flow}")).into(), ..message });
    // Every flow of a batch that meets those of the one before, and as many new ones.
    for batch in 0..4 {
        let ops = (0..200).map(|nth| {
            let queue = if nth % 3 == 1 { "full" } else { "q" };
            in_flow(bench.message(queue, "hello"), (nth + batch * 100) % 400)
        });
        let ops = ops.collect();
        let reply = bench.submit(ops);
        bench.settle();
        let outcomes = bench.reply(reply).expect("an answer");
        let taken = outcomes.iter().filter(|outcome| outcome.refused().is_none()).count();
        assert_eq!(taken, if batch == 0 { 134 } else { 133 });
    }
    let Out::Flows(flows) = bench.admin(Task::Flows { name: "q".to_owned(), limit: 1000 }) else { panic!() };
    let mut expected = vec![0; 400];
    for batch in 0..4 {
        (0..200).filter(|nth| nth % 3 != 1).for_each(|nth| expected[(nth + batch * 100) % 400] += 1);
    }
    assert_eq!(flows.len(), expected.iter().filter(|count| **count > 0).count());
    for flow in flows {
        let nth: usize = flow.fairness_key.parse().unwrap();
        assert_eq!(flow.waiting, expected[nth], "flow {nth}");
    }
}
