//! A request of several items: one result for each, in order, whatever was refused on the way.

use super::ops::Ops;
use super::port::Outcome;
use super::queues::Queues;
use crate::api::Refusal;

/// What became of each item before the engine was asked.
#[derive(Debug, Default)]
pub struct Items {
    /// What was refused; nothing for what went to the engine.
    refused: Vec<Option<Refusal>>,
}

impl Items {
    /// Notes the next item: gathered among the operations, or refused.
    pub fn push(&mut self, gathered: Result<(), Refusal>) {
        self.refused.push(gathered.err());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.refused.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.refused.is_empty()
    }

    /// The results, out of the outcomes of those that were gathered: takes as many as these are.
    pub fn results(
        self,
        mut outcomes: impl Iterator<Item = Outcome>,
    ) -> impl ExactSizeIterator<Item = Result<Outcome, Refusal>> {
        self.refused.into_iter().map(move |refused| match refused {
            Some(refusal) => Err(refusal),
            None => match outcomes.next() {
                Some(Outcome::Refused(refused)) => Err((*refused).into()),
                Some(outcome) => Ok(outcome),
                // The engine answers every operation, or stops.
                None => Err(Refusal::shutting_down()),
            },
        })
    }
}

impl Queues {
    /// Submits the items that were gathered, and waits for a result for each of all.
    pub async fn settle(
        &self,
        ops: Ops,
        items: Items,
    ) -> impl ExactSizeIterator<Item = Result<Outcome, Refusal>> + use<> {
        let outcomes = match ops.is_empty() {
            true => Vec::new(),
            false => self.submit(ops).await,
        };
        items.results(outcomes.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::queue::MessageId;
    use tidegate_engine::Refused;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        let mut items = Items::default();
        items.push(Ok(()));
        items.push(Err(Refusal::invalid_receipt(b"x")));
        items.push(Ok(()));
        items.push(Ok(()));
        let outcomes = vec![Outcome::Done, Refused::StaleReceipt(MessageId(1)).into()];
        let codes: Vec<&str> = items
            .results(outcomes.into_iter())
            .map(|result| result.map_or_else(|r| r.code().as_str(), |_| "ok"))
            .collect();
        assert_eq!(codes, ["ok", "invalid_receipt", "stale_receipt", "shutting_down"]);
    }
}
