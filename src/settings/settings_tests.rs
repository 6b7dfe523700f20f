//! What `CONFIG GET` shows and `CONFIG SET` changes.

use super::*;

fn get(settings: &Settings, name: &str) -> String {
    String::from_utf8(settings.get(name).unwrap()).unwrap()
}

#[test]
fn every_setting_answers() {
    let settings = Settings::default();
    for name in Settings::names() {
        assert!(settings.get(name).is_some(), "{name}");
    }
    assert_eq!(get(&settings, "SAVE"), "60 1");
    assert_eq!(get(&settings, "bind"), "127.0.0.1");
    assert_eq!(get(&settings, "max-pause"), "1d");
    assert_eq!(settings.get("nonsense"), None);
}

#[test]
fn what_is_shown_can_be_set_again() {
    let settings = Settings::default();
    for name in Settings::names() {
        let shown = settings.get(name).unwrap();
        match settings.set(&[(name.as_bytes(), &shown)]) {
            Ok(()) => assert_eq!(settings.get(name).unwrap(), shown, "{name}"),
            Err(error) => assert!(
                error.to_string().ends_with("can't set immutable config"),
                "{error}"
            ),
        }
    }
}

#[test]
fn a_refused_change_changes_nothing() {
    let settings = Settings::default();
    let error = settings
        .set(&[(b"maxclients", b"5"), (b"timeout", b"-1")])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and 315360000 inclusive"
    );
    assert_eq!(settings.maxclients(), 10_000);
    let error = settings
        .set(&[(b"timeout", b"1"), (b"TIMEOUT", b"2")])
        .unwrap_err();
    assert!(error.to_string().ends_with("duplicate parameter"));
    let error = settings.set(&[(b"no\r\nsuch", b"1")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        r"Unknown option or number of arguments for CONFIG SET - 'no\r\nsuch'"
    );
    assert_eq!(settings.timeout_seconds(), 0);
}

#[test]
fn changes_take_effect() {
    let settings = Settings::default();
    let seen = std::sync::Arc::new(Mutex::new(None));
    let sink = seen.clone();
    settings.on_loglevel(move |level| *sink.lock() = Some(level));
    settings
        .set(&[
            (b"save", b""),
            (b"requirepass", b"pw"),
            (b"loglevel", b"warning"),
            (b"max-pause", b"90m"),
        ])
        .unwrap();
    assert_eq!(settings.save_seconds(), 0);
    assert!(settings.requirepass() == Password::new(b"pw").unwrap());
    assert_eq!(*seen.lock(), Some(LogLevel::Warn));
    assert_eq!(get(&settings, "max-pause"), "90m");
    assert!(!format!("{settings:?}").contains("pw"));
}
