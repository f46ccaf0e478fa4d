//! The same tests over RESP, wherever what is set and used is kept.

use crate::resp::client::Client;

/// A RESP door over some store.
pub trait RespDoor {
    /// Opens one over nothing.
    fn open() -> Self;

    /// A new connection.
    fn connect(&self) -> Client;
}

/// All tests of [`resp`](super::resp), through such a door.
macro_rules! on_store {
    ($door:ty) => {
        impl super::on_each_store::RespDoor for $door {
            fn open() -> Self {
                <$door>::open()
            }

            fn connect(&self) -> crate::resp::client::Client {
                <$door>::connect(self)
            }
        }

        on_store! { $door:
            an_acquire_takes_and_a_settle_gives_back_what_was_too_much
            a_limit_that_is_taken_away_and_set_again_has_what_it_had
            what_nobody_has_taken_from_is_full_whatever_is_set
            leases_of_a_name_that_no_entity_can_have_are_none
            a_lease_can_be_adjusted_extended_and_released
            what_is_wrong_is_told
            a_parent_is_charged_too
            who_waits_is_granted_when_somebody_gives_back
            who_leaves_while_it_waits_takes_nothing
            a_queued_message_and_an_acquire_draw_on_one_budget
            what_an_acquire_waits_for_is_told_in_a_sentence
            a_throttle_key_is_a_limit_of_the_entity_of_that_name
            a_manifest_is_planned_applied_and_taken_back
            usage_and_audit_are_told
            a_deleted_namespace_is_refused_everywhere_until_it_is_recovered
        }
    };
    ($door:ty: $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                super::resp::$test::<$door>();
            }
        )*
    };
}
