//! On the embedded store.

use crate::resp::Door;

on_store!(Door);
