//! Several items, all or none.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    Update,
};

use super::call::{Attempts, RESENDS, pause};
use super::handle::Table;
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_attributes};
use crate::layout::expression::Expression;
use crate::layout::key::Key;
use crate::random;

/// Items of one transaction, at most.
pub const MAX_ITEMS: usize = 100;

/// One item of a transaction.
#[derive(Clone, Debug)]
pub enum Write {
    /// Puts an item, if its condition holds.
    Put(Item, Expression),
    /// Changes an item or makes one.
    Update(Key, Expression),
    /// Deletes an item.
    Delete(Key, Expression),
    /// Changes nothing: its condition has to hold.
    Check(Key, Expression),
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Transacted {
    /// All was written.
    Done,
    /// Nothing was: these conditions did not hold.
    Refused(Vec<Unmet>),
}

/// A condition that did not hold: its place in the transaction, and what was there.
pub type Unmet = (usize, Option<Item>);

/// What the builders of all four have in common, and no trait.
macro_rules! conditional {
    ($table:expr, $write:expr, $expression:expr) => {
        $write
            .table_name($table.name())
            .set_condition_expression($expression.condition())
            .set_expression_attribute_names($expression.names())
            .set_expression_attribute_values($expression.values())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
}

impl Table {
    /// Writes all or nothing. A transaction that meets another one is tried again. To be sent again after a fault with
    /// the same token, within ten minutes, does no harm.
    pub async fn transact(&self, writes: &[Write], token: &Token) -> Result<Transacted, Fault> {
        let items: Vec<TransactWriteItem> =
            writes.iter().map(|write| self.transact_item(write)).collect::<Result<_, _>>()?;
        let mut unsure = false;
        for resend in 0..=RESENDS {
            if resend > 0 {
                pause(resend).await;
            }
            let attempts = Attempts::new();
            let call = self.client().transact_write_items().set_transact_items(Some(items.clone()));
            let call = call.client_request_token(&token.0).customize().interceptor(attempts.clone());
            let error = match call.send().await {
                Ok(_) => return Ok(Transacted::Done),
                Err(error) => error,
            };
            unsure |= attempts.were_unsure();
            match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    match refused(cancelled.cancellation_reasons(), self)? {
                        Some(refused) => return Ok(Transacted::Refused(refused)),
                        None => continue,
                    }
                }
                Some(TransactWriteItemsError::TransactionInProgressException(_)) => continue,
                _ => return Err(self.fault(error).after(unsure)),
            }
        }
        Err(Fault::Conflict("what several write at once".into()))
    }

    fn transact_item(&self, write: &Write) -> Result<TransactWriteItem, Fault> {
        let item = TransactWriteItem::builder();
        let built = match write {
            Write::Put(put, expression) => {
                let put = Put::builder().set_item(Some(put.clone()));
                conditional!(self, put, expression).build().map(|put| item.put(put))
            }
            Write::Update(key, expression) => {
                let update = Update::builder().set_key(Some(key_attributes(key)));
                let update = update.set_update_expression(expression.update());
                conditional!(self, update, expression).build().map(|update| item.update(update))
            }
            Write::Delete(key, expression) => {
                let delete = Delete::builder().set_key(Some(key_attributes(key)));
                conditional!(self, delete, expression).build().map(|delete| item.delete(delete))
            }
            Write::Check(key, expression) => {
                let check = ConditionCheck::builder().set_key(Some(key_attributes(key)));
                conditional!(self, check, expression).build().map(|check| item.condition_check(check))
            }
        };
        Ok(built.map_err(|error| Fault::Bug(error.to_string()))?.build())
    }
}

/// What makes a transaction the same one when it is sent again.
#[derive(Clone, Debug)]
pub struct Token(String);

impl Token {
    /// Of a transaction that was never sent.
    pub fn new() -> Token {
        Token(format!("{}{}", random::hex(), random::hex()))
    }
}

impl Default for Token {
    fn default() -> Token {
        Token::new()
    }
}

/// The conditions that did not hold. None if it only met somebody else.
fn refused(reasons: &[CancellationReason], table: &Table) -> Result<Option<Vec<Unmet>>, Fault> {
    let mut refused = Vec::new();
    for (at, reason) in reasons.iter().enumerate() {
        match reason.code() {
            None | Some("None" | "TransactionConflict") => {}
            Some("ConditionalCheckFailed") => refused.push((at, reason.item.clone())),
            Some("ThrottlingError" | "ProvisionedThroughputExceeded") => {
                return Err(Fault::Throttled(reason.message().unwrap_or("a transaction").to_owned()));
            }
            Some(code) => {
                let message = reason.message().unwrap_or_default();
                return Err(Fault::Bug(format!("{code} in a transaction on `{}`: {message}", table.name())));
            }
        }
    }
    Ok((!refused.is_empty()).then_some(refused))
}
