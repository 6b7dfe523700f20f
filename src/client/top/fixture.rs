//! A server's answers, and a screen in memory, for tests.

use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::ask::{News, Question};
use super::palette::Palette;
use super::reading::{Count, Journal, Kind, Limit, Past, Reading, Row, Second, Server, Standing};
use super::screen;
use super::state::{RANKED_MAX, State, Then};

pub const NOW_S: u64 = 1_700_000_120;

pub fn server() -> Server {
    Server {
        name: "Tollgate 0.1.0".to_owned(),
        run_id: "a".to_owned(),
        at_us: Some(NOW_S * 1_000_000),
        uptime_s: Some(11_040),
        clients: Some(12),
        clients_max: Some(10_000),
        waiting: Some(3),
        memory_bytes: Some(14_900_000),
        memory_max_bytes: Some(1 << 30),
        calls_per_second: Some(1_234),
        keys: 4_321,
        granted: Some(100_000),
        denied: Some(5_000),
        paused: Some(40),
        shadowed: Some(0),
        snapshot_at_s: Some(NOW_S - 75),
        snapshot_error: None,
        journal: Some(Journal::Covers(NOW_S - 1)),
    }
}

pub fn standing(remaining: u64, capacity: u64) -> Standing {
    Standing {
        limit: Limit {
            kind: Some("bucket".to_owned()),
            capacity: Some(capacity),
            rate: Some("80/s".to_owned()),
            used: capacity - remaining,
            remaining,
            reset_after_ms: 1_000,
            ..Limit::default()
        },
        slowed: "1".to_owned(),
        ..Standing::default()
    }
}

pub fn row(key: &[u8], minute: u64, standing: Standing) -> Row {
    let count = |calls| Count { calls, error: 0 };
    // More and more denials, every ten seconds twice as many.
    let seconds = (0..6).map(|step| Second {
        at_s: NOW_S - 50 + step * 10,
        denied: 1 << step,
        granted: 80,
        ..Second::default()
    });
    Row {
        kind: Kind::Denied,
        key: key.to_vec(),
        minute: count(minute),
        ten_minutes: count(minute * 7),
        standing: Ok(Some(standing)),
        past: Ok(Some(Past {
            since_s: NOW_S - 45,
            seconds: seconds.collect(),
        })),
    }
}

pub fn rows() -> Vec<Row> {
    let mut paused = standing(0, 80);
    (paused.paused_ms, paused.limit.wait_ms, paused.waiting) = (12_401, 12_401, 3);
    let mut backlog = standing(0, 100_000);
    (backlog.limit.booked, backlog.limit.wait_ms) = (2_500, 184_000);
    let mut rows = vec![
        row(b"rl:meta:123", 123_456, paused),
        row(
            b"acct:{7}:messages:of-a-tenant-with-a-long-name",
            640,
            backlog,
        ),
        row(b"\x1b[2J\x1b]0;owned\x07\r\n", 63, standing(3, 7)),
        row("\u{202e}\u{2588}wide\u{ff21}".as_bytes(), 9, standing(1, 2)),
        row(b"counter", 2, standing(0, 1)),
    ];
    rows[1].minute.error = 3;
    (rows[4].standing, rows[4].past) = (Ok(None), Ok(None));
    rows
}

pub fn reading(rows: Result<Vec<Row>, String>) -> Reading {
    Reading {
        question: Question {
            kind: Some(Kind::Denied),
            count: RANKED_MAX,
            ..Question::default()
        },
        now_s: Ok(NOW_S),
        server: Ok(server()),
        rows,
        key: None,
    }
}

/// A state with half a minute behind it.
pub fn state(reading: Reading) -> State {
    let place = "127.0.0.1:6379".to_owned();
    let earlier = Reading {
        server: Ok(Server {
            at_us: Some((NOW_S - 30) * 1_000_000),
            granted: Some(100_000 - 1_085),
            denied: Some(5_000 - 33),
            ..server()
        }),
        ..reading.clone()
    };
    let mut state = State::new(place, 0, Kind::Denied, None, earlier);
    for ago_s in (1..30).rev() {
        let seen = Server {
            at_us: Some((NOW_S - ago_s) * 1_000_000),
            granted: Some(100_000 - ago_s * 35),
            denied: Some(5_000 - ago_s),
            ..server()
        };
        state.rates.note(&seen);
    }
    state.hear(News::Reading(Box::new(reading)));
    state
}

pub fn draw(state: &mut State, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let palette = Palette::with_colours(true);
    terminal
        .draw(|frame| screen::draw(frame.buffer_mut(), state, palette))
        .unwrap();
    terminal
}

/// What is on the screen, each line without the blanks at its end.
pub fn shown(state: &mut State, width: u16, height: u16) -> String {
    let terminal = draw(state, width, height);
    let buffer = terminal.backend().buffer();
    let lines = buffer.content.chunks(usize::from(width)).map(|line| {
        let line: String = line.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub fn press(state: &mut State, codes: &[KeyCode]) {
    for code in codes {
        assert_eq!(
            state.press(KeyEvent::new(*code, KeyModifiers::NONE)),
            Then::GoOn
        );
    }
}
