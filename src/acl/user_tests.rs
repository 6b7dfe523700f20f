use super::super::catalogue::tests::small;
use super::*;

fn user(rules: &[&str]) -> Result<User, RuleError> {
    let mut user = User::new(false);
    for rule in rules {
        user.apply(&small(), rule.as_bytes())?;
    }
    Ok(user)
}

fn text(rules: &[&str]) -> String {
    String::from_utf8(user(rules).unwrap().text()).unwrap()
}

#[test]
fn a_new_user_may_do_nothing() {
    assert_eq!(text(&[]), "off sanitize-payload resetchannels -@all");
    let user = user(&[]).unwrap();
    assert!(!user.accepts(&Hash::of(b"")) && !user.is_open() && !user.is_unrestricted());
    let open = User::new(true);
    assert_eq!(open.text(), b"off sanitize-payload &* -@all");
}

#[test]
fn passwords_are_added_and_taken_away() {
    let accepts =
        |rules: &[&str], password: &[u8]| user(rules).unwrap().accepts(&Hash::of(password));
    assert!(accepts(&["on", ">a", ">b"], b"a") && accepts(&["on", ">a", ">b"], b"b"));
    assert!(!accepts(&["on", ">a"], b"b") && !accepts(&[">a"], b"a"));
    assert!(!accepts(&["on", ">a", "<a"], b"a"));
    assert!(accepts(&["on", "nopass"], b"anything"));
    assert!(!accepts(&["on", "nopass", ">a"], b"anything"));
    assert!(!accepts(&["on", ">a", "nopass", "resetpass"], b"a"));
    let x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    assert!(accepts(&["on", &format!("#{x}")], b"x"));
    assert!(!accepts(&["on", ">x", &format!("!{x}")], b"x"));
    assert_eq!(
        text(&["on", ">x", ">x"]),
        format!("on sanitize-payload #{x} resetchannels -@all")
    );
    assert_eq!(user(&["<a"]).err(), Some(RuleError::NoSuchPassword));
    assert_eq!(user(&["#a"]).err(), Some(RuleError::BadHash));
    assert_eq!(user(&["!a"]).err(), Some(RuleError::BadHash));
}

#[test]
fn reset_makes_it_new() {
    let rules = [
        "ON",
        "nopass",
        "skip-sanitize-payload",
        "~*",
        "&*",
        "+@all",
        "(~a)",
        "",
        "RESET",
    ];
    assert_eq!(user(&rules).unwrap(), User::new(false));
    assert_eq!(
        text(&rules[..8]),
        "on nopass skip-sanitize-payload ~* &* +@all (~a resetchannels -@all)"
    );
    assert!(user(&rules[..8]).unwrap().is_unrestricted());
}

#[test]
fn one_selector_must_allow_all_of_a_request() {
    use crate::acl::{Touch, TouchedKey};
    let check = |rules: &[&str], command: &str, key: &str| {
        let request = Request {
            command: small().find(command.as_bytes()).unwrap(),
            is_free: false,
            first_argument: None,
            keys: [TouchedKey {
                at: 1,
                name: key.as_bytes(),
                touch: Touch::BOTH,
            }]
            .into_iter()
            .collect(),
            channels: Default::default(),
        };
        user(rules).unwrap().check(&request)
    };
    let rules = ["+get", "~a", "( ~b +set )"];
    assert_eq!(check(&rules, "get", "a"), Ok(()));
    assert_eq!(check(&rules, "set", "b"), Ok(()));
    assert_eq!(check(&rules, "set", "a"), Err(Denied::Key(1)));
    assert_eq!(check(&rules, "setex", "a"), Err(Denied::Command));
    assert_eq!(
        check(&["+get", "~a", "(~b +set)", "clearselectors"], "set", "b"),
        Err(Denied::Command)
    );
    assert_eq!(user(&["(+nosuch)"]).err(), Some(RuleError::Unknown));
    assert_eq!(user(&["("]).err(), Some(RuleError::Syntax));
    assert_eq!(user(&["(on)"]).err(), Some(RuleError::Syntax));
}

#[test]
fn what_it_hears_is_compared_as_it_stands() {
    let hears = |after: &[&str], before: &[&str]| {
        user(after).unwrap().hears_all_that(&user(before).unwrap())
    };
    assert!(hears(&["&a", "&b"], &["&a"]) && !hears(&["&a"], &["&a", "&b"]));
    assert!(hears(&["&*"], &["&a"]) && !hears(&["&a"], &["&*"]));
    // As in Redis: what a pattern matches is not looked at.
    assert!(!hears(&["&a*"], &["&ab"]));
    assert!(hears(&["(&a)"], &["&a"]) && hears(&["&a"], &["(&a)"]) && hears(&[], &[]));
    let user = user(&["&a*", "(&b)"]).unwrap();
    assert!(user.may_listen(b"ab", false) && user.may_listen(b"b", false));
    assert!(user.may_listen(b"a*", true) && !user.may_listen(b"ab", true));
}

#[test]
fn it_is_bounded() {
    let catalogue = small();
    for (mark, end, most) in [(">", "", PASSWORDS_MAX), ("(~", ")", SELECTORS_MAX)] {
        let mut user = User::new(false);
        for number in 0..most {
            let rule = format!("{mark}{number}{end}");
            assert_eq!(user.apply(&catalogue, rule.as_bytes()), Ok(()));
        }
        let more = format!("{mark}more{end}");
        assert_eq!(
            user.apply(&catalogue, more.as_bytes()),
            Err(RuleError::TooMany)
        );
    }
}
