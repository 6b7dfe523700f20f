//! Whatever a history leaves behind is loaded exactly as it was saved.

use crate::histories::{about, begin};
use crate::holdings::Holdings;
use crate::server::{Memory, Server};
use proptest::prelude::*;
use std::io::Cursor;
use tollgate::persistence::snapshot;
use tollgate::store::Store;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_history_leaves_is_loaded_as_it_was(
        steps in about().prop_flat_map(|about| begin(about, 50)),
        later in prop_oneof![Just(0), 0..=3_000_000_000u64],
        damage in (any::<prop::sample::Index>(), 1..=255u8),
    ) {
        let mut server = Server::new();
        server.play(&steps, &mut Memory::default());
        server.advance(later);
        let (store, now) = (&server.engine.shared.store, server.now());
        let mut bytes = Vec::new();
        let saved = snapshot::write(store, now, 1, &mut bytes).expect("memory takes it");
        let other = Store::new();
        let loaded = snapshot::fill(&other, Cursor::new(&bytes)).expect("it was just written");
        prop_assert_eq!((loaded.taken_at, loaded.keys), (now, saved.keys));
        prop_assert_eq!(Holdings::of(&other, now), Holdings::of(store, now));

        let (at, flip) = (damage.0.index(bytes.len()), damage.1);
        let empty = Store::new();
        prop_assert!(snapshot::fill(&empty, Cursor::new(&bytes[..at])).is_err());
        bytes[at] ^= flip;
        prop_assert!(snapshot::fill(&empty, Cursor::new(&bytes)).is_err());
        prop_assert_eq!(Holdings::of(&empty, now), Holdings::default());
    }
}
