//! Many threads after few places: never more than those are held, and every number is given once and grows.

use crate::server::{Server, call, lease_of, session};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

const THREADS: usize = 16;
const ROUNDS: usize = 300;
const PLACES: usize = 5;

#[test]
fn a_crowd_holds_no_more_than_there_is() {
    let server = Server::new();
    let (engine, inside) = (&server.engine, AtomicUsize::new(0));
    // What each thread was given, in the order in which it came.
    let given: Vec<Vec<u64>> = thread::scope(|scope| {
        let work = |thread: usize| {
            let inside = &inside;
            move || {
                let (mut own, mut given) = (session(engine), Vec::new());
                for round in 0..ROUNDS {
                    let ends_with_connection = (thread + round).is_multiple_of(3);
                    let request = match (thread + round) % 6 {
                        0 => "RL.LEASE k 5 1h BOUND",
                        3 => "RL.LEASE k 5 1h OWNER me BOUND",
                        _ => "RL.LEASE k 5 1h",
                    };
                    let Some((number, _)) = lease_of(&call(&mut own, request)) else {
                        thread::yield_now();
                        continue;
                    };
                    assert!(inside.fetch_add(1, SeqCst) < PLACES);
                    given.push(number);
                    thread::yield_now();
                    inside.fetch_sub(1, SeqCst);
                    if ends_with_connection {
                        own = session(engine);
                    } else {
                        let released = call(&mut own, &format!("RL.RELEASE k {number}"));
                        assert_eq!(released, ":1");
                    }
                }
                given
            }
        };
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(work(thread)))
            .collect();
        let given = threads.into_iter().map(|thread| thread.join().unwrap());
        given.collect()
    });
    assert!(
        given
            .iter()
            .all(|numbers| numbers.is_sorted_by(|a, b| a < b))
    );
    let mut all = given.concat();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert!(count > PLACES);
    assert_eq!(all.len(), count, "a number was given twice");
    let counts = &server.engine.shared.store.counts;
    assert_eq!((counts.leases(), counts.lapsed_leases()), (0, 0));
    assert_eq!(server.engine.shared.store.len(0), 0, "and nothing is left");
}
