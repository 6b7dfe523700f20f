//! Pauses, what they do to a bucket, and what is left of a key.

use crate::core::test_key::*;

#[test]
fn a_resumed_bucket_refills_from_the_resume_on() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 10));
    key.pause_keep(60_000);
    // Settles the bucket as of the pause's end, where it would be full.
    assert_eq!(key.refund(1), 0);
    assert!(key.resume());
    assert!(key.take(&limit, 1));
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 1_000);
    key.advance_ms(1_000);
    assert!(key.take(&limit, 1));
}

#[test]
fn a_shorter_pause_by_force_drains_the_bucket_that_begins_after_it() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(1, "1"), 1));
    key.pause(60_000);
    key.advance_ms(2_000);
    // Its one permit is there again: to resume leaves no bucket that this pause could drain.
    assert_eq!(key.pause_force(1_000), 1_000);
    key.advance_ms(1_000);
    assert_eq!(key.remaining(&bucket(10, "1")), 1);
}
