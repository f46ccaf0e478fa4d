//! Acks, nacks, extensions and releases, alone or on a stream: one result for each receipt, in order.

use super::super::v1;
use crate::api::queue::{Items, NackCall, Ops, Outcome};
use crate::api::{NamespaceName, Refusal};

/// What is to become of messages that were delivered.
#[derive(Debug)]
pub enum Settle {
    /// They are done with, each at this cost if there is one.
    Ack(Vec<String>, Vec<v1::Amount>),
    /// They have failed.
    Nack(Vec<v1::NackItem>),
    /// They need longer.
    Extend(Vec<v1::ExtendItem>),
    /// They are given back.
    Release(Vec<String>),
}

impl Settle {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Settle::Ack(receipts, _) | Settle::Release(receipts) => receipts.len(),
            Settle::Nack(items) => items.len(),
            Settle::Extend(items) => items.len(),
        }
    }

    /// Gathers an operation for each.
    pub fn gather(&self, ops: &mut Ops, namespace: &NamespaceName, queue: &str) -> Items {
        let (mut items, queue) = (Items::default(), queue.as_bytes());
        match self {
            Settle::Ack(receipts, cost) => {
                let cost = real_cost(cost);
                receipts.iter().for_each(|receipt| {
                    items.push(ops.ack(namespace, queue, receipt.as_bytes(), &cost));
                });
            }
            Settle::Release(receipts) => {
                receipts
                    .iter()
                    .for_each(|receipt| items.push(ops.release(namespace, queue, receipt.as_bytes())));
            }
            Settle::Nack(nacks) => nacks.iter().for_each(|nack| {
                let cost = real_cost(&nack.cost);
                items.push(ops.nack(namespace, queue, nack.receipt.as_bytes(), nack.call(&cost)));
            }),
            Settle::Extend(extensions) => extensions.iter().for_each(|item| {
                let visibility_ms = item.visibility_timeout_ms;
                items.push(ops.extend(namespace, queue, item.receipt.as_bytes(), visibility_ms));
            }),
        }
        items
    }

    /// What became of each.
    pub fn response(self, results: impl Iterator<Item = Result<Outcome, Refusal>>) -> v1::SettleResponse {
        use v1::settle_result::Outcome as Told;
        let told = results.zip(self.receipts()).map(|(result, mut receipt)| {
            let outcome = match result {
                // A receipt that was taken begins with the id of its message.
                Ok(_) => {
                    receipt.truncate(receipt.find('-').unwrap_or(receipt.len()));
                    Told::Id(receipt)
                }
                Err(refusal) => Told::Error(refusal.into()),
            };
            v1::SettleResult { outcome: Some(outcome) }
        });
        v1::SettleResponse { results: told.collect() }
    }

    fn receipts(self) -> Vec<String> {
        match self {
            Settle::Ack(receipts, _) | Settle::Release(receipts) => receipts,
            Settle::Nack(items) => items.into_iter().map(|item| item.receipt).collect(),
            Settle::Extend(items) => items.into_iter().map(|item| item.receipt).collect(),
        }
    }
}

impl v1::NackItem {
    /// The nack, as every transport makes it.
    fn call<'c>(&'c self, cost: &'c [(&'c [u8], i64)]) -> NackCall<'c> {
        NackCall {
            delay_ms: self.delay_ms,
            error: self.error.as_deref().map(str::as_bytes),
            close: self.close.as_ref().map(|close| (&close.throttle_key[..], close.retry_after_ms)),
            cost: (!cost.is_empty()).then_some(cost),
        }
    }
}

fn real_cost(cost: &[v1::Amount]) -> Vec<(&[u8], i64)> {
    cost.iter().map(|amount| (amount.limit.as_bytes(), amount.amount)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_name_messages_in_the_order_of_receipts() {
        use v1::settle_result::Outcome as Told;
        let item = |receipt: &str| v1::NackItem { receipt: receipt.to_owned(), ..Default::default() };
        let nack = Settle::Nack(vec![item("0192f3c4a1b20001-1"), item("0192f3c4a1b20002-7")]);
        assert_eq!(nack.len(), 2);
        let results = [Err(Refusal::invalid_receipt(b"x")), Ok(Outcome::Done)];
        let told: Vec<_> = nack
            .response(results.into_iter())
            .results
            .into_iter()
            .map(|result| result.outcome.unwrap())
            .collect();
        assert!(matches!(&told[0], Told::Error(refusal) if refusal.code == "invalid_receipt"), "{told:?}");
        assert_eq!(told[1], Told::Id("0192f3c4a1b20002".to_owned()));
    }

    #[test]
    fn a_nack_says_what_it_says() {
        let close = v1::Close { throttle_key: "k".into(), retry_after_ms: 5 };
        let item = v1::NackItem {
            receipt: String::new(),
            delay_ms: Some(0),
            error: Some("e".to_owned()),
            close: Some(close),
            cost: vec![v1::Amount { limit: "tpm".to_owned(), amount: 9 }],
        };
        let cost = real_cost(&item.cost);
        let call = item.call(&cost);
        assert_eq!(call.cost, Some(&[(&b"tpm"[..], 9)][..]));
        assert_eq!((call.delay_ms, call.error, call.close), (Some(0), Some(&b"e"[..]), Some((&b"k"[..], 5))));
        let unsaid = v1::NackItem::default();
        let call = unsaid.call(&[]);
        assert_eq!((call.delay_ms, call.error, call.close, call.cost), (None, None, None, None));
    }
}
