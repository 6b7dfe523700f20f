//! The screen, drawn from fixed answers on a terminal in memory.

use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use ratatui_crossterm::crossterm::event::KeyCode;

use super::ask::News;
use super::fixture::{NOW_S, draw, press, reading, row, rows, server, shown, standing, state};
use super::palette::Palette;
use super::reading::{Journal, Key, Reading, Server};
use super::screen;
use super::state::{State, View};

fn assert_shown(state: &mut State, width: u16, height: u16, expected: &str) {
    let shown = shown(state, width, height);
    assert_eq!(shown, expected.trim_matches('\n'), "\n{shown}\n");
}

/// Looks at the first key closely.
fn look_closely(state: &mut State) {
    press(state, &[KeyCode::Enter]);
    let first = rows().remove(0);
    let mut answer = reading(Ok(rows()));
    answer.key = Some(Key {
        name: first.key,
        standing: first.standing,
        past: first.past,
    });
    state.hear(News::Reading(Box::new(answer)));
}

#[test]
fn a_usual_terminal() {
    assert_shown(
        &mut state(reading(Ok(rows()))),
        80,
        24,
        r#"
Tollgate 0.1.0 at 127.0.0.1:6379, up 3h04m
1234 calls/s, 12 of 10000 clients, 3 waiting, 4321 keys, 14.2 MiB of 1.0 GiB
journal written 1s ago, snapshot 1m15s ago
granted/s 35 (most in 3 min 44)          denied/s 1.0 (most in 3 min 1.8)
                                █▄▄▄▄▄▄                                  █
                                ███████                                  █▆▆▆▆▆▆
                                ███████                                  ███████
[denied] waited  paused  shadowed  granted
  KEY                 1 MIN 10 MIN        LEFT BOOKED   WAIT  PAUSE QUEUE MINUTE
> rl:meta:123          123k   864k        0/80      -  12.5s  12.5s     3 ▁▁▁▂▄█
  acct:{7}:mes…-name   ≤640   4480      0/100k   2500  3m04s      -     - ▁▁▁▂▄█
  "\x1b[2J\x1b…\r\n"     63    441         3/7      -      -      -     - ▁▁▁▂▄█
  "\xe2\x80\xa…\xa1"      9     63         1/2      -      -      -     - ▁▁▁▂▄█
  counter                 2     14           -      -      -      -     -









q end  ? help  Tab rank by  / match  Enter look closely  arrows choose
"#,
    );
}

#[test]
fn a_narrow_one_keeps_what_is_needed_most() {
    assert_shown(
        &mut state(reading(Ok(rows()))),
        40,
        15,
        r#"
Tollgate 0.1.0 at 127.0.0.1:6379
1234 calls/s, 12 of 10000 clients
journal written 1s ago
[denied]
  KEY                1 MIN   WAIT  PAUSE
> rl:meta:123         123k  12.5s  12.5s
  acct:{7}:me…-name   ≤640  3m04s      -
  "\x1b[2J\x1…\r\n"     63      -      -
  "\xe2\x80\x…\xa1"      9      -      -
  counter                2      -      -




q end  ? help  Tab rank by  / match
"#,
    );
}

#[test]
fn a_wide_one_has_room_for_names_and_spark_lines() {
    assert_shown(
        &mut state(reading(Ok(rows()))),
        200,
        16,
        r#"
Tollgate 0.1.0 at 127.0.0.1:6379, up 3h04m
1234 calls/s, 12 of 10000 clients, 3 waiting, 4321 keys, 14.2 MiB of 1.0 GiB
journal written 1s ago, snapshot 1m15s ago
granted/s 35 (most in 3 min 70)                                                                      denied/s 1.0 (most in 3 min 4.0)
                                                                                   █                                                                                                    █
                                                                                   █▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄                                                                                     █
                                                                                   ████████████████                                                                                     █▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆
[denied] waited  paused  shadowed  granted
  KEY                                                               1 MIN 10 MIN        LEFT BOOKED   WAIT  PAUSE QUEUE                         MINUTE
> rl:meta:123                                                        123k   864k        0/80      -  12.5s  12.5s     3       ___▁____▁____▂____▄____█
  acct:{7}:messages:of-a-tenant-with-a-long-name                     ≤640   4480      0/100k   2500  3m04s      -     -       ___▁____▁____▂____▄____█
  "\x1b[2J\x1b]0;owned\a\r\n"                                          63    441         3/7      -      -      -     -       ___▁____▁____▂____▄____█
  "\xe2\x80\xae\xe2\x96\x88wide\xef\xbc\xa1"                            9     63         1/2      -      -      -     -       ___▁____▁____▂____▄____█
  counter                                                               2     14           -      -      -      -     -

q end  ? help  Tab rank by  / match  Enter look closely  arrows choose
"#,
    );
}

#[test]
fn a_key_is_looked_at_closely() {
    let mut state = state(reading(Ok(rows())));
    look_closely(&mut state);
    assert_shown(
        &mut state,
        80,
        24,
        r#"
Tollgate 0.1.0 at 127.0.0.1:6379, up 3h04m
1234 calls/s, 12 of 10000 clients, 3 waiting, 4321 keys, 14.2 MiB of 1.0 GiB
journal written 1s ago, snapshot 1m15s ago
rl:meta:123
bucket 80/s: 0 of 80 left, 80 used, wait 12.5s, full in 1.0s
PAUSED for 12.5s, 3 waiting on the server
granted: 480 in ten minutes, most in 8 s 80
                                                                          ████ █
                                                                          ████ █
                                                                          ████ █
                                                                          ████ █
                                                                          ████ █
                                                                          ████ █
                                                                         _████_█
denied: 63 in ten minutes, most in 8 s 32
                                                                               █
                                                                               █
                                                                               █
                                                                             ▄ █
                                                                             █ █
                                                                            ▆█ █
                                                                         _▄▇██_█

q end  Esc back  ? help
"#,
    );
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(state.view, View::Table);
}

#[test]
fn what_is_not_allowed_is_said() {
    let denied =
        |command| format!("NOPERM User a has no permissions to run the '{command}' command");
    let answer = Reading {
        server: Err(denied("info")),
        ..reading(Err(denied("rl.top")))
    };
    let mut state = state(answer);
    assert_shown(
        &mut state,
        80,
        8,
        r#"
server at 127.0.0.1:6379
[denied] waited  paused  shadowed  granted
no keys to show


no INFO: NOPERM User a has no permissions to run the 'info' command
no RL.TOP: NOPERM User a has no permissions to run the 'rl.top' command
q end  ? help  Tab rank by  / match  Enter look closely  arrows choose
"#,
    );
    let mut some = rows();
    some[0].standing = Err(denied("rl.usage"));
    state.hear(News::Reading(Box::new(reading(Ok(some)))));
    let shown = shown(&mut state, 80, 12);
    assert!(
        shown.contains("\n> rl:meta:123          123k   864k           ?      ?"),
        "{shown}"
    );
    assert!(shown.contains("\nno RL.USAGE: NOPERM User a"), "{shown}");
}

#[test]
fn a_server_that_went_away_is_said_and_what_was_known_stays() {
    let mut state = state(reading(Ok(rows())));
    let reason = "cannot connect to 127.0.0.1:6379: refused".to_owned();
    state.hear(News::Lost(reason, Duration::from_secs(2)));
    let shown = shown(&mut state, 80, 12);
    assert!(
        shown.ends_with("NO SERVER, next try in 2.0s: cannot connect to 127.0.0.1:6379: refused"),
        "{shown}"
    );
    assert!(shown.contains("> rl:meta:123"), "{shown}");
    state.hear(News::Reading(Box::new(reading(Ok(Vec::new())))));
    let shown = self::shown(&mut state, 80, 12);
    assert!(
        shown.contains("\nno such calls in the last ten minutes\n"),
        "{shown}"
    );
    assert!(shown.ends_with("arrows choose"), "{shown}");
}

#[test]
fn trouble_with_the_disk_stands_out() {
    let mut answer = reading(Ok(rows()));
    answer.server = Ok(Server {
        snapshot_error: Some("disk full".to_owned()),
        journal: Some(Journal::Suspended(NOW_S - 12, Some("no space".to_owned()))),
        ..server()
    });
    let mut state = state(answer);
    let terminal = draw(&mut state, 80, 24);
    let cell = terminal.backend().buffer().cell((0, 2)).unwrap();
    assert!(cell.modifier.contains(Modifier::REVERSED));
    let shown = shown(&mut state, 80, 24);
    assert!(
        shown.contains("\nJOURNAL SUSPENDED 12s ago: no space, SNAPSHOT FAILED: disk full\n"),
        "{shown}"
    );
}

/// Every size, every view: nothing panics, and nothing of a stranger reaches the terminal but printable ASCII.
#[test]
fn no_size_and_no_name_breaks_it() {
    let every: Vec<u8> = (0..=255).collect();
    let mut hostile = rows();
    hostile.extend([
        row(&every, 1, standing(1, 2)),
        row(b"", 1, standing(u64::MAX, u64::MAX)),
    ]);
    let sizes = (1..50).flat_map(|width| (1..40).map(move |height| (width, height)));
    let own = |symbol: &str| {
        symbol
            .chars()
            .all(|c| matches!(c, ' '..='~' | '\u{2581}'..='\u{2588}' | '\u{2264}' | '\u{2026}'))
    };
    let mut state = state(reading(Ok(hostile)));
    for (width, height) in sizes.chain([(80, 24), (200, 60), (500, 3)]) {
        for view in [View::Table, View::Key(every.clone())] {
            for is_helping in [false, true] {
                (state.view, state.is_helping) = (view.clone(), is_helping);
                let terminal = draw(&mut state, width, height);
                let cells = &terminal.backend().buffer().content;
                let odd = cells.iter().find(|cell| !own(cell.symbol()));
                assert_eq!(odd, None, "{width}x{height}");
            }
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    for (has_colours, expected) in [(true, true), (false, false)] {
        let mut state = state(reading(Ok(rows())));
        let area = Rect::new(0, 0, 80, 24);
        let mut buffer = Buffer::empty(area);
        screen::draw(&mut buffer, &mut state, Palette::with_colours(has_colours));
        let coloured = buffer
            .content
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert_eq!(coloured, expected);
    }
}
