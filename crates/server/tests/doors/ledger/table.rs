//! On a table that servers share: what one connection sees is what it sees of the embedded store.

use crate::table::Door;

on_store!(Door);
