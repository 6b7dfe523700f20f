//! The keys that matter now.

use super::keys::{Viewer, view};
use crate::core::units::{SECOND, Timestamp};
use crate::hot::{Hot, Kind};
use crate::store::DATABASES_MAX;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys that are shown in each order.
const SHOWN_MAX: usize = 12;
/// Keys of each kind that are looked at, so that what is said of one is whole even where it is not among the first.
const LOOKED_AT: usize = 48;
/// Seconds of the line beside a key.
const LINE_SECONDS: usize = 60;
/// So many seconds ago all was handed in that was counted of a second.
const HANDED_IN: usize = 2;

/// A key of a database.
type Name = (u8, Arc<[u8]>);

/// What is counted of a key in the last minute, in the order of [`Kind::ALL`].
type Counts = [u64; Kind::ALL.len()];

const fn of(counts: &Counts, kind: Kind) -> u64 {
    counts[kind as usize]
}

/// The orders in which the page can show them.
const ORDERS: [fn(&Counts) -> u64; 4] = [
    |counts| of(counts, Kind::Granted) + of(counts, Kind::Denied),
    |counts| of(counts, Kind::Denied),
    |counts| of(counts, Kind::Waited),
    |counts| of(counts, Kind::Paused),
];

/// The first keys in each of the orders, each once, as far as the viewer may know.
pub(super) fn hot(viewer: &mut Viewer<'_>, now: Timestamp) -> Vec<Value> {
    let mut rows = counted(viewer, now);
    let mut first = vec![false; rows.len()];
    for order in ORDERS {
        let mut places: Vec<usize> = (0..rows.len())
            .filter(|&at| order(&rows[at].1) > 0)
            .collect();
        places.sort_by_key(|&at| std::cmp::Reverse(order(&rows[at].1)));
        for at in places.into_iter().take(SHOWN_MAX) {
            first[at] = true;
        }
    }
    let mut first = first.into_iter();
    rows.retain(|_| first.next().unwrap_or(false));
    let shown = rows.iter().filter_map(|((database, key), counts)| {
        let mut shown = view(viewer, *database, key)?;
        let hot = &viewer.engine.shared.hot;
        let minute = Kind::ALL.map(|kind| (kind.name().to_owned(), of(counts, kind).into()));
        shown["minute"] = Value::Object(minute.into_iter().collect());
        shown["line"] = line(hot, *database, key, now);
        Some(shown)
    });
    shown.collect()
}

/// What was counted of keys of all databases.
fn counted(viewer: &mut Viewer<'_>, now: Timestamp) -> Vec<(Name, Counts)> {
    let (hot, store) = (&viewer.engine.shared.hot, &viewer.engine.shared.store);
    let mut rows: BTreeMap<Name, Counts> = BTreeMap::new();
    for database in (0..DATABASES_MAX).filter(|&database| database == 0 || store.len(database) > 0)
    {
        for kind in Kind::ALL {
            let ranked = hot.top(kind, database, LOOKED_AT, now, |key| viewer.may_see(key));
            for ranked in ranked {
                let row = rows.entry((database, ranked.name)).or_default();
                row[kind as usize] = ranked.minute.count;
            }
        }
    }
    rows.into_iter().collect()
}

/// Grants and denials in each of the last seconds of which all is known.
fn line(hot: &Hot, database: u8, key: &[u8], now: Timestamp) -> Value {
    let (mut granted, mut denied) = ([0; LINE_SECONDS], [0; LINE_SECONDS]);
    let now_s = now.as_ns() / SECOND;
    if let Some(history) = hot.history(database, key, now) {
        for second in &history.seconds {
            let ago = now_s.saturating_sub(second.at_s) as usize;
            let place = (LINE_SECONDS + HANDED_IN - 1).checked_sub(ago);
            if let Some(place) = place.filter(|&place| place < LINE_SECONDS) {
                granted[place] = second.count(Kind::Granted);
                denied[place] = second.count(Kind::Denied);
            }
        }
    }
    json!({ "granted": &granted[..], "denied": &denied[..] })
}
