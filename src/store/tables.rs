//! How large the tables are.

use super::keyspace::Store;
use super::shard::Shards;
use super::table::PLACE_BYTES;
use std::sync::OnceLock;

impl Store {
    /// Bytes of the tables of a database, what keys hold elsewhere left out.
    pub fn table_bytes(&self, database: u8) -> usize {
        self.existing(database).map_or(0, Shards::table_bytes)
    }

    /// Keys that have gone by themselves and were dropped since the last call to make room for others.
    pub fn take_crowded_out(&self) -> usize {
        let databases = self.databases.iter().filter_map(OnceLock::get);
        databases.map(Shards::take_crowded_out).sum()
    }

    /// Places of all tables: how much there is to sweep.
    pub fn places(&self) -> usize {
        let databases = self.databases.iter().filter_map(OnceLock::get);
        let bytes: usize = databases.map(Shards::table_bytes).sum();
        bytes / PLACE_BYTES
    }
}
