//! The calls on bucket items. Each is attempted as often as is set; a write carries its sequence in its condition, so one
//! that comes twice is done once.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure};

use crate::fault::Fault;
use crate::layout::attribute::{Item, key_attributes};
use crate::layout::expression::Expression;
use crate::layout::key::Key;
use crate::node::counters::{Counters, Operation, Outcome};
use crate::table::call::Attempts;
use crate::table::handle::Table;
use crate::table::transact::{Token, Transacted, Write};

use super::asked::Owner;
use super::create;
use super::place::Place;

/// What making a bucket takes, in thousandths of units: a transaction pays twice for the item and for the look at its owner,
/// and three indexes have the item, too.
const CREATE_UNITS: u64 = 7_000;

/// What came of a conditional write.
#[derive(Debug)]
pub(crate) enum Written {
    /// It was done; this is there now.
    Done(Item),
    /// It was not: this is there, if anything.
    Otherwise(Option<Item>),
    /// It was not: the owner's record is not what was read.
    OwnerChanged,
    /// It was not: somebody else's transaction is under way.
    Busy,
}

/// Makes calls, and counts them.
#[derive(Clone, Copy)]
pub(crate) struct Calls<'a> {
    pub(crate) table: &'a Table,
    pub(crate) counters: &'a Counters,
}

impl Calls<'_> {
    /// Reads an item as it is now.
    pub(crate) async fn read(&self, key: &Key) -> Result<Option<Item>, Fault> {
        let call = self.table.client().get_item().table_name(self.table.name());
        let call = call.set_key(Some(key_attributes(key))).consistent_read(true);
        let reply = call.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await;
        let reply = reply.map_err(|error| self.table.fault(error));
        self.counters.called(Operation::Read, &reply);
        let reply = reply?;
        self.counters.read(reply.consumed_capacity());
        Ok(reply.item)
    }

    /// Changes an item.
    pub(crate) async fn update(&self, key: &Key, write: &Expression) -> Result<Written, Fault> {
        let attempts = Attempts::new();
        let call = self.table.client().update_item().table_name(self.table.name());
        let reply = call
            .set_key(Some(key_attributes(key)))
            .set_update_expression(write.update())
            .set_condition_expression(write.condition())
            .set_expression_attribute_names(write.names())
            .set_expression_attribute_values(write.values())
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(attempts.clone())
            .send()
            .await;
        let error = match reply {
            Ok(reply) => {
                self.counters.call(Operation::Draw, Outcome::Done);
                self.counters.wrote(reply.consumed_capacity());
                return Ok(Written::Done(reply.attributes.unwrap_or_default()));
            }
            Err(error) => error,
        };
        let written = match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                // The service takes a unit for a write whose condition fails, and tells nobody.
                self.counters.wrote_milli(1000);
                Written::Otherwise(failed.item.clone())
            }
            Some(UpdateItemError::TransactionConflictException(_)) => Written::Busy,
            _ => {
                let fault = self.table.fault(error).after(attempts.were_unsure());
                self.counters.call(Operation::Draw, Outcome::of(&fault));
                return Err(fault);
            }
        };
        self.counters.call(Operation::Draw, Outcome::Conflict);
        Ok(written)
    }

    /// Makes a bucket's item, while its owner's record is what was read.
    pub(crate) async fn create(&self, place: &Place, item: &Item, owner: &Owner) -> Result<Written, Fault> {
        if place.call.is_some() {
            return self.create_own(place, item).await;
        }
        let mut absent = Expression::new();
        absent.require_absent("PK");
        let owner_key = Key::entity(&place.ns, &place.entity);
        let writes =
            [Write::Put(item.clone(), absent), Write::Check(owner_key, create::owner_unchanged(owner))];
        let result = self.table.transact(&writes, &Token::new()).await;
        self.counters.called(Operation::Create, &result);
        Ok(match result? {
            Transacted::Done => {
                self.counters.wrote_milli(CREATE_UNITS);
                Written::Done(item.clone())
            }
            Transacted::Refused(refused) => match refused.into_iter().find(|(at, _)| *at == 0) {
                Some((_, there)) => Written::Otherwise(there.filter(|item| !item.is_empty())),
                None => Written::OwnerChanged,
            },
        })
    }

    /// Makes an item that only this project reads, and that no record stands behind.
    async fn create_own(&self, place: &Place, item: &Item) -> Result<Written, Fault> {
        let mut write = Expression::new();
        write.require_absent("PK");
        for (name, value) in item.iter().filter(|(name, _)| !matches!(name.as_str(), "PK" | "SK")) {
            write.set(name, value.clone());
        }
        self.update(&place.key(), &write).await
    }
}
