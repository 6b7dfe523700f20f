use super::super::catalogue::tests::small;
use super::*;
use crate::acl::{TouchedChannel, TouchedKey};

/// The selector of some rules, or why one was refused.
fn selector(rules: &str) -> Result<Selector, RuleError> {
    let (catalogue, mut selector) = (small(), Selector::new(false));
    for rule in rules.split_ascii_whitespace() {
        selector.apply(&catalogue, rule.as_bytes())?;
    }
    Ok(selector)
}

fn text(rules: &str) -> String {
    let text = selector(rules).unwrap().text();
    String::from_utf8(text).unwrap()
}

/// Whether a request may run: a command with its first argument, and keys as `r:name`, `w:name`, `rw:name`, `:name`,
/// channels as `&name`, patterns of channels as `&&name`.
fn check(rules: &str, command: &str, touched: &str) -> Result<(), Denied> {
    let catalogue = small();
    let (name, argument) = match command.split_once(' ') {
        Some((name, argument)) => (name, Some(argument.as_bytes())),
        None => (command, None),
    };
    let mut request = Request {
        command: catalogue.find(name.as_bytes()).unwrap(),
        is_free: false,
        first_argument: argument,
        keys: Default::default(),
        channels: Default::default(),
    };
    for (index, word) in touched.split_ascii_whitespace().enumerate() {
        let at = index + 1;
        if let Some(name) = word.strip_prefix('&') {
            let is_pattern = name.starts_with('&');
            let name = name.trim_start_matches('&').as_bytes();
            request.channels.push(TouchedChannel {
                at,
                name,
                is_pattern,
            });
        } else {
            let (letters, name) = word.split_once(':').unwrap();
            let touch = Touch {
                reads: letters.contains('r'),
                writes: letters.contains('w'),
            };
            let name = name.as_bytes();
            request.keys.push(TouchedKey { at, name, touch });
        }
    }
    selector(rules).unwrap().check(&request)
}

#[test]
fn commands_are_allowed_in_the_order_of_the_rules() {
    let allowed = |rules: &str, command: &str| check(rules, command, "").is_ok();
    assert!(!allowed("", "get"));
    assert!(allowed("+GET", "get") && !allowed("+get", "set"));
    assert!(!allowed("+get -@read", "get") && allowed("-@read +get", "get"));
    assert!(allowed("+@all", "configure") && !allowed("+@all -@admin", "configure"));
    assert!(allowed("+@string -setex", "set") && !allowed("+@string -setex", "setex"));
    assert!(allowed("allcommands", "get") && !allowed("allcommands nocommands", "get"));
    assert!(allowed("+config", "config|set") && !allowed("+config|get", "config|set"));
    assert!(
        !allowed("+config -config|set", "config|set")
            && allowed("+config -config|set", "config|get")
    );
    assert!(!allowed("+config|get -config", "config|get"));
}

#[test]
fn a_first_argument_may_be_all_that_is_allowed() {
    let allowed = |rules: &str, command: &str| check(rules, command, "").is_ok();
    let rules = "+select|7 +select|A";
    assert!(allowed(rules, "select 7") && allowed(rules, "select a"));
    assert!(!allowed(rules, "select 77") && !allowed(rules, "select") && !allowed(rules, "get 7"));
    assert!(!allowed("+select|7 -select", "select 7"));
    assert!(!allowed("+select|7 -@connection", "select 7"));
    assert!(allowed("+select|7 +select", "select 8"));
    assert_eq!(
        text("+select|7 +select|A +select|a +get"),
        "resetchannels -@all +select|7 +select|a +get"
    );
}

#[test]
fn rules_are_written_as_they_were_given_less_what_is_overruled() {
    for (rules, written) in [
        ("", "-@all"),
        ("+get -get", "-@all -get"),
        ("+get +@read -get", "-@all +@read -get"),
        ("+config|get +config|set -config", "-@all -config"),
        ("+config -config|set", "-@all +config -config|set"),
        ("+set +setex -set", "-@all +setex -set"),
        ("+@all -@ADMIN +GET", "+@all -@admin +get"),
        ("+get +@all", "+@all"),
        ("+get -@all", "-@all"),
    ] {
        let commands = String::from_utf8(selector(rules).unwrap().commands_text()).unwrap();
        assert_eq!(commands, written, "{rules}");
        assert_eq!(
            selector(&commands).unwrap(),
            selector(rules).unwrap(),
            "{rules}"
        );
    }
}

#[test]
fn keys_are_held_against_each_pattern() {
    let keys = |rules: &str, touched: &str| check(&format!("+@all {rules}"), "get", touched);
    assert_eq!(keys("", "r:a"), Err(Denied::Key(1)));
    assert_eq!(keys("", ":a"), Err(Denied::Key(1)));
    assert_eq!(keys("~t7:*", "rw:t7:a r:t7:b"), Ok(()));
    assert_eq!(keys("~t7:*", "rw:t7:a r:t8:b"), Err(Denied::Key(2)));
    assert_eq!(keys("~t7:*", "rw:t7"), Err(Denied::Key(1)));
    assert_eq!(keys("%R~a", "r:a :a"), Ok(()));
    assert_eq!(keys("%R~a", "w:a"), Err(Denied::Key(1)));
    assert_eq!(keys("%W~a", "w:a :a"), Ok(()));
    assert_eq!(keys("%W~a", "rw:a"), Err(Denied::Key(1)));
    // Two patterns that each allow a half do not make a whole, two times the same pattern does.
    assert_eq!(keys("%R~a* %W~*", "rw:a"), Err(Denied::Key(1)));
    assert_eq!(keys("%R~a %w~a", "rw:a"), Ok(()));
    assert_eq!(keys("allkeys", "rw:anything"), Ok(()));
    assert_eq!(keys("~a allkeys resetkeys ~b", "rw:a"), Err(Denied::Key(1)));
    assert_eq!(
        text("~a %R~b %rw~c %W~d %R~d"),
        "~a %R~b ~c ~d resetchannels -@all"
    );
}

#[test]
fn whatever_is_written_is_read_again() {
    for rules in ["%RW~* ~a", "~a %R~* ~b %W~*", "allkeys", "%R~* %W~a"] {
        let text = text(rules);
        assert_eq!(self::text(&text), text, "{rules}");
    }
    assert_eq!(text("~a %R~* ~b %W~*"), "~* resetchannels -@all");
}

#[test]
fn channels_match_patterns_and_patterns_must_be_the_same() {
    let channels =
        |rules: &str, touched: &str| check(&format!("+@all allkeys {rules}"), "get", touched);
    assert_eq!(channels("&t7:*", "&t7:a"), Ok(()));
    assert_eq!(channels("&t7:*", "&t7:a &t8:a"), Err(Denied::Channel(2)));
    assert_eq!(channels("&t7:*", "&&t7:*"), Ok(()));
    assert_eq!(channels("&t7:*", "&&t7:a*"), Err(Denied::Channel(1)));
    assert_eq!(channels("&*", "&&anything"), Ok(()));
    assert_eq!(
        channels("&a &a resetchannels &b", "&a"),
        Err(Denied::Channel(1))
    );
    assert_eq!(text("&a &b*"), "resetchannels &a &b* -@all");
    assert_eq!(text("allchannels"), "&* -@all");
}

#[test]
fn what_is_no_rule_is_refused_in_its_own_words() {
    use RuleError::{AfterAllChannels, AfterAllKeys, FirstArgument, Syntax, Unknown};
    for (rules, error) in [
        ("on", Syntax),
        ("get", Syntax),
        ("+nosuch", Unknown),
        ("-nosuch", Unknown),
        ("+@nosuch", Unknown),
        ("-@", Unknown),
        ("+", Unknown),
        ("+nosuch|x", Unknown),
        ("+config|nosuch", Unknown),
        ("-select|0", Unknown),
        ("+select|", Syntax),
        ("+config|get|x", FirstArgument),
        ("~* ~a", AfterAllKeys),
        ("allkeys %R~a", AfterAllKeys),
        ("allkeys %", AfterAllKeys),
        ("&* &a", AfterAllChannels),
        ("%~a", Syntax),
        ("%", Syntax),
        ("%R", Syntax),
        ("%RR~a", Syntax),
        ("%X~a", Syntax),
    ] {
        assert_eq!(selector(rules).err(), Some(error), "{rules}");
    }
    let catalogue = small();
    let mut spaced = Selector::new(false);
    for rule in [&b"~a b"[..], b"&a\nb", b"~a\0b", b"%R~a\tb"] {
        assert_eq!(spaced.apply(&catalogue, rule), Err(Syntax));
    }
}

#[test]
fn it_is_bounded() {
    let catalogue = small();
    for mark in ["~", "&", "+select|"] {
        let mut selector = Selector::new(false);
        for number in 0..PATTERNS_MAX {
            let rule = format!("{mark}{number}");
            assert_eq!(selector.apply(&catalogue, rule.as_bytes()), Ok(()));
        }
        let more = format!("{mark}more");
        assert_eq!(
            selector.apply(&catalogue, more.as_bytes()),
            Err(RuleError::TooMany)
        );
        let again = format!("{mark}0");
        assert_eq!(selector.apply(&catalogue, again.as_bytes()), Ok(()));
        let long = format!("{mark}{}", "x".repeat(PATTERN_BYTES_MAX + 1));
        let refused = Selector::new(false).apply(&catalogue, long.as_bytes());
        assert_eq!(refused, Err(RuleError::TooMany));
    }
}
