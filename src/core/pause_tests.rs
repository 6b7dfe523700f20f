use super::*;
use crate::core::units::{DAY, SECOND};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ns(seconds * SECOND).unwrap()
}

fn span(seconds: u64) -> Span {
    Span::from_ns(seconds * SECOND).unwrap()
}

#[test]
fn a_mark_is_kept_for_as_long_as_the_pause_lasted() {
    assert_eq!(Pause::new(at(100), span(30), true).ends(), at(160));
    assert_eq!(Pause::new(at(100), span(30), false).ends(), at(130));
}

#[test]
fn a_pause_that_ends_early_leaves_its_mark_there() {
    let mark = Pause::new(at(100), span(30), true)
        .resumed(at(110))
        .unwrap();
    assert_eq!((mark.until, mark.ends()), (at(110), at(140)));
    assert_eq!(Pause::new(at(100), span(30), false).resumed(at(110)), None);
}

#[test]
fn the_longest_pause_at_the_last_instant_ends_after_it() {
    let pause = Pause::new(Timestamp::MAX, Span::MAX, true);
    assert_eq!(pause.until.since(Timestamp::MAX), 3650 * DAY);
    assert_eq!(pause.ends().since(pause.until), 3650 * DAY);
    assert!(Timestamp::from_ns(pause.ends().as_ns()).is_some());
}
