use super::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ns(seconds * SECOND).expect("in range")
}

fn ticket(key: &str, slot: Timestamp) -> Ticket {
    let part = Part {
        key: Key::new(key.as_bytes()),
        limits: PolicyLimits::new(),
        under_policy: false,
        costs: SmallVec::from_elem(1, 1),
        slots: SmallVec::from_elem(
            Slot {
                at: slot,
                fraction: 0,
            },
            1,
        ),
    };
    let ttl = Span::from_ns(10 * SECOND).expect("a span");
    Ticket {
        parts: SmallVec::from_elem(part, 1),
        slot,
        ttl,
        confirmed: false,
        overtaken: false,
        id: None,
        lease: 0,
    }
}

fn remembered(expires: Timestamp) -> Remembered {
    Remembered {
        answer: Answer::Number(7),
        request: 1,
        expires,
    }
}

#[test]
fn a_ticket_is_known_until_its_slot_and_its_ttl_are_over() {
    let records = Records::default();
    records.put(0, 1, ticket("k", at(5)));
    assert!(records.ticket(0, b"k", 1, at(14)).is_some());
    assert!(records.ticket(0, b"k", 1, at(15)).is_none());
    assert_eq!(records.counts(), (0, 0));
}

#[test]
fn another_key_or_database_makes_a_ticket_unknown() {
    let records = Records::default();
    records.put(0, 1, ticket("k", at(5)));
    assert!(records.ticket(0, b"other", 1, at(0)).is_none());
    assert!(records.ticket(1, b"k", 1, at(0)).is_none());
    records.remove(0, b"other", 1);
    assert!(records.ticket(0, b"k", 1, at(0)).is_some());
}

#[test]
fn a_changed_ticket_expires_by_its_new_slot() {
    let records = Records::default();
    records.put(0, 1, ticket("k", at(5)));
    records.put(0, 1, ticket("k", at(50)));
    assert!(records.ticket(0, b"k", 1, at(59)).is_some());
    assert_eq!(records.counts(), (1, 0));
}

#[test]
fn numbers_grow_and_start_where_they_are_told() {
    let records = Records::default();
    assert_eq!(records.next_number(), 1);
    records.start_above(100);
    assert_eq!(records.next_number(), 101);
    records.start_above(5);
    assert_eq!(records.next_number(), 102);
}

#[test]
fn the_oldest_answers_make_room() {
    let records = Records::default();
    for number in 0..=ANSWERS_MAX {
        records.remember(0, b"k", number.to_string().as_bytes(), remembered(at(60)));
    }
    assert_eq!(records.counts(), (0, ANSWERS_MAX));
    assert!(records.answer(0, b"k", b"0", at(0)).is_none());
    assert!(records.answer(0, b"k", b"1", at(0)).is_some());
    assert!(records.answer(0, b"k", b"1", at(60)).is_none());
    records.sweep(at(60));
    assert_eq!(records.counts(), (0, 0));
}

#[test]
fn a_ticket_given_back_takes_the_answer_of_its_request_along() {
    let records = Records::default();
    records.put(
        0,
        1,
        Ticket {
            id: Some((*b"id").into()),
            ..ticket("k", at(5))
        },
    );
    let granted = Remembered {
        answer: Answer::Granted {
            slot: at(5),
            ticket: 1,
            lease: 0,
            binding: 0,
            rows: Vec::new(),
        },
        ..remembered(at(60))
    };
    records.remember(0, b"k", b"id", granted);
    records.remove(0, b"k", 1);
    assert_eq!(records.counts(), (0, 0));
}

#[test]
fn but_not_that_of_another_request_with_the_same_id() {
    let records = Records::default();
    for number in [1, 2, 3] {
        let id = Some((*b"id").into());
        let ticket = Ticket {
            id,
            ..ticket("k", at(5))
        };
        records.put(0, number, ticket);
    }
    let answer = Answer::Granted {
        slot: at(5),
        ticket: 3,
        lease: 0,
        binding: 0,
        rows: Vec::new(),
    };
    let remembered = Remembered {
        answer,
        ..remembered(at(60))
    };
    records.remember(0, b"k", b"id", remembered);
    records.remove(0, b"k", 1);
    assert_eq!(records.counts(), (2, 1));
    records.settle(0, b"k", 2);
    assert_eq!(records.counts(), (1, 1));
    records.settle(0, b"k", 3);
    assert_eq!(records.counts(), (0, 1), "settled is not forgotten");
}

#[test]
fn clearing_a_database_leaves_the_others() {
    let records = Records::default();
    records.put(0, 1, ticket("k", at(5)));
    records.put(1, 2, ticket("k", at(5)));
    records.remember(0, b"k", b"id", remembered(at(60)));
    records.remember(1, b"k", b"id", remembered(at(60)));
    records.clear(0);
    assert_eq!(records.counts(), (1, 1));
    assert!(records.ticket(1, b"k", 2, at(0)).is_some());
    records.forget_key(1, b"k");
    assert_eq!(records.counts(), (0, 0));
}

#[test]
fn many_that_expire_at_once_are_dropped_bit_by_bit_but_unknown_at_once() {
    let records = Records::default();
    let many = 5 * EXPIRED_AT_A_TIME as u64;
    for number in 1..=many {
        records.put(0, number, ticket("k", at(5)));
        records.remember(0, b"k", &number.to_be_bytes(), remembered(at(60)));
    }
    assert!(records.ticket(0, b"k", many, at(15)).is_none());
    assert!(records.tickets_after(0, 10, at(15)).is_empty());
    let last = many.to_be_bytes();
    assert!(records.answer(0, b"k", &last, at(60)).is_none());
    assert!(records.answers_after(0, 10, at(60)).is_empty());
    let left = many as usize - EXPIRED_AT_A_TIME;
    assert_eq!(records.counts(), (left, left));
    records.sweep(at(60));
    assert_eq!(records.counts(), (0, 0));
}

#[test]
fn what_has_expired_takes_no_room() {
    let records = Records::default();
    for number in 1..=TICKETS_PER_KEY_MAX as u64 {
        records.put(0, number, ticket("k", at(5)));
    }
    assert!(!records.has_room(0, b"k", at(14)));
    assert!(records.has_room(0, b"k", at(15)));
}
