//! Writing items one by one, and many without conditions.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, ReturnValuesOnConditionCheckFailure, WriteRequest};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::call::{Attempts, RESENDS, pause};
use super::handle::Table;
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_attributes};
use crate::layout::expression::Expression;
use crate::layout::key::Key;

/// Items of one call, at most.
const BATCH: usize = 25;

/// Calls at once.
const AT_ONCE: usize = 4;

/// What became of a write with a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// It was made.
    Done,
    /// The condition did not hold, and this was there.
    Refused(Option<Item>),
}

impl Table {
    /// Changes an item, or makes one, if the condition holds. What meets a transaction is tried again.
    pub async fn update(&self, key: &Key, expression: &Expression) -> Result<Written, Fault> {
        let mut unsure = false;
        for resend in 0..=RESENDS {
            if resend > 0 {
                pause(resend).await;
            }
            let attempts = Attempts::new();
            let call = self.client().update_item().table_name(self.name()).set_key(Some(key_attributes(key)));
            let reply = call
                .set_update_expression(expression.update())
                .set_condition_expression(expression.condition())
                .set_expression_attribute_names(expression.names())
                .set_expression_attribute_values(expression.values())
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                .customize()
                .interceptor(attempts.clone())
                .send()
                .await;
            let error = match reply {
                Ok(_) => return Ok(Written::Done),
                Err(error) => error,
            };
            unsure |= attempts.were_unsure();
            match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    return Ok(Written::Refused(failed.item.clone()));
                }
                Some(UpdateItemError::TransactionConflictException(_)) => {}
                _ => return Err(self.fault(error).after(unsure)),
            }
        }
        Err(busy())
    }

    /// Puts an item where none is. False if one is there, which may be this one, put by an attempt whose answer was lost.
    pub async fn put_new(&self, item: Item) -> Result<bool, Fault> {
        for resend in 0..=RESENDS {
            if resend > 0 {
                pause(resend).await;
            }
            let call = self.client().put_item().table_name(self.name()).set_item(Some(item.clone()));
            let error = match call.condition_expression("attribute_not_exists(PK)").send().await {
                Ok(_) => return Ok(true),
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => return Ok(false),
                Some(PutItemError::TransactionConflictException(_)) => {}
                _ => return Err(self.fault(error)),
            }
        }
        Err(busy())
    }

    /// Puts items in place of whatever is there. If it fails, some may be there.
    pub async fn put_all(&self, items: Vec<Item>) -> Result<(), Fault> {
        let request = |item| PutRequest::builder().set_item(Some(item)).build();
        let requests = items
            .into_iter()
            .map(|item| request(item).map(|request| WriteRequest::builder().put_request(request).build()));
        self.write_all(requests.collect::<Result<_, _>>().map_err(|error| Fault::Bug(error.to_string()))?)
            .await
    }

    /// Deletes items. If it fails, some may be left; it can be called again.
    pub async fn delete_all(&self, keys: &[Key]) -> Result<(), Fault> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let request = |key: &Key| DeleteRequest::builder().set_key(Some(key_attributes(key))).build();
        let requests = keys
            .iter()
            .map(|key| request(key).map(|request| WriteRequest::builder().delete_request(request).build()));
        self.write_all(requests.collect::<Result<_, _>>().map_err(|error| Fault::Bug(error.to_string()))?)
            .await
    }

    async fn write_all(&self, requests: Vec<WriteRequest>) -> Result<(), Fault> {
        let batches: Vec<Vec<WriteRequest>> = requests.chunks(BATCH).map(<[_]>::to_vec).collect();
        let calls = batches.into_iter().map(|batch| self.write_batch(batch));
        stream::iter(calls).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn write_batch(&self, batch: Vec<WriteRequest>) -> Result<(), Fault> {
        let (mut left, mut resend) = (batch, 0);
        while !left.is_empty() {
            let call = self.client().batch_write_item().request_items(self.name(), left);
            let reply = call.send().await.map_err(|error| self.fault(error))?;
            left = reply.unprocessed_items.unwrap_or_default().remove(self.name()).unwrap_or_default();
            if !left.is_empty() {
                resend += 1;
                if resend > RESENDS {
                    return Err(Fault::Throttled(format!(
                        "it left {} writes undone time after time",
                        left.len()
                    )));
                }
                pause(resend).await;
            }
        }
        Ok(())
    }
}

fn busy() -> Fault {
    Fault::Conflict("an item that transactions hold all the time".into())
}
