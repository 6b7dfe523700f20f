//! What keys on the keyboard do.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::ask::News;
use super::fixture::{press, reading, row, rows, shown, standing, state};
use super::reading::{Kind, Row};
use super::state::{Then, View};

#[test]
fn the_chosen_row_follows_its_key() {
    let mut state = state(reading(Ok(rows())));
    shown(&mut state, 80, 24);
    press(
        &mut state,
        &[KeyCode::Down, KeyCode::Char('j'), KeyCode::Up],
    );
    assert_eq!(state.chosen, 1);
    let mut turned = rows();
    turned.reverse();
    state.hear(News::Reading(Box::new(reading(Ok(turned)))));
    assert_eq!(state.chosen, 3);
    press(&mut state, &[KeyCode::Enter]);
    assert_eq!(state.view, View::Key(rows()[1].key.clone()));
    assert_eq!(state.question().key, Some(rows()[1].key.clone()));
}

#[test]
fn the_table_goes_on_below_the_screen() {
    let many: Vec<Row> = (0..100)
        .map(|n| row(format!("k{n}").as_bytes(), 100 - n, standing(1, 2)))
        .collect();
    let mut state = state(reading(Ok(many)));
    // 24 lines: three of the head, four of the chart, the tabs, the titles, the foot.
    shown(&mut state, 80, 24);
    assert_eq!(state.question().closely, 0..14);
    press(&mut state, &[KeyCode::PageDown]);
    let page = shown(&mut state, 80, 24);
    assert!(page.contains("> k14 ") && !page.contains(" k0 "), "{page}");
    assert_eq!(state.question().closely, 1..15);
    press(&mut state, &[KeyCode::End]);
    let page = shown(&mut state, 80, 24);
    assert!(page.contains("> k99 "), "{page}");
    press(&mut state, &[KeyCode::Home]);
    assert!(shown(&mut state, 80, 24).contains("> k0 "));
}

#[test]
fn tabs_and_patterns_ask_anew() {
    let mut state = state(reading(Ok(rows())));
    press(&mut state, &[KeyCode::Tab]);
    assert_eq!(state.question().kind, Some(Kind::Waited));
    // The old answer is not shown as the new one.
    assert!(
        shown(&mut state, 80, 24)
            .contains("\n denied [waited] paused  shadowed  granted\nasking...")
    );
    press(&mut state, &[KeyCode::BackTab, KeyCode::BackTab]);
    assert_eq!(state.question().kind, Some(Kind::Granted));
    let typed = "q?x".chars().map(KeyCode::Char);
    press(&mut state, &[KeyCode::Char('/')]);
    press(&mut state, &typed.collect::<Vec<_>>());
    assert!(shown(&mut state, 80, 24).contains("\nmatch: q?x_"));
    press(&mut state, &[KeyCode::Enter]);
    assert_eq!(state.question().pattern.as_deref(), Some(&b"q?x"[..]));
    press(
        &mut state,
        &[
            KeyCode::Char('/'),
            KeyCode::Backspace,
            KeyCode::Backspace,
            KeyCode::Enter,
        ],
    );
    assert_eq!(state.question().pattern.as_deref(), Some(&b"*q*"[..]));
    press(
        &mut state,
        &[KeyCode::Char('/'), KeyCode::Char('z'), KeyCode::Esc],
    );
    assert_eq!(state.question().pattern.as_deref(), Some(&b"*q*"[..]));
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(state.question().pattern, None);
}

#[test]
fn it_ends_when_it_is_told() {
    let mut state = state(reading(Ok(rows())));
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut state, &[KeyCode::Char('?')]);
    assert!(shown(&mut state, 80, 24).contains("QUEUE             callers"));
    press(&mut state, &[KeyCode::Char('x'), KeyCode::Char('/')]);
    assert_eq!(state.press(control_c), Then::End);
    press(&mut state, &[KeyCode::Char('q'), KeyCode::Esc]);
    let q = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
    assert_eq!(state.press(q), Then::End);
}
