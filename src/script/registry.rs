//! Which script a client means.

use super::Script;
use super::digest::{Digest, without_indents};
use super::table::scripts;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Most digests that are remembered beside those of the table: each is the same known text, indented in its own
/// way, so a fleet of clients brings a handful. Whoever makes them up gets no more than this.
pub const LOADED_MAX: usize = 10_000;

type Table = HashMap<Digest, &'static Script, ahash::RandomState>;

static BY_SHA1: LazyLock<Table> = LazyLock::new(|| by(|script| script.sha1));
static BY_SHA1_WITHOUT_INDENTS: LazyLock<Table> =
    LazyLock::new(|| by(|script| script.sha1_without_indents));

fn by(column: impl Fn(&Script) -> &'static str) -> Table {
    let row = |script| Some((Digest::parse(column(script).as_bytes())?, script));
    scripts().filter_map(row).collect()
}

/// The scripts of the table, and the digests under which clients have loaded them.
#[derive(Default)]
pub struct Registry {
    loaded: RwLock<Table>,
}

impl Registry {
    /// The script of that digest, if it is in the table or was loaded.
    pub fn find(&self, digest: Digest) -> Option<&'static Script> {
        let known = BY_SHA1.get(&digest).copied();
        known.or_else(|| self.loaded.read().get(&digest).copied())
    }

    /// The digest of a text and the script it is. From now on the digest finds it too.
    pub fn load(&self, text: &[u8]) -> (Digest, Option<&'static Script>) {
        let digest = Digest::of(text);
        if let Some(script) = self.find(digest) {
            return (digest, Some(script));
        }
        let plain = Digest::of(&without_indents(text));
        let script = BY_SHA1_WITHOUT_INDENTS.get(&plain).copied();
        if let Some(script) = script {
            let mut loaded = self.loaded.write();
            if loaded.len() < LOADED_MAX {
                loaded.insert(digest, script);
            }
        }
        (digest, script)
    }

    /// Forgets what was loaded. The table stays.
    pub fn flush(&self) {
        self.loaded.write().clear();
    }
}
