use super::super::catalogue::tests::small;
use super::*;

fn acl(password: &[u8]) -> Acl {
    Acl::new(small(), password)
}

fn change(acl: &Acl, name: &str, rules: &str) -> Result<(), (usize, RuleError)> {
    let rules: Vec<Vec<u8>> = rules.split_ascii_whitespace().map(Vec::from).collect();
    acl.change(name.as_bytes(), &rules, false, |_, _| ())
}

fn log_in(acl: &Acl, name: &str, password: &str) -> Option<Login> {
    acl.log_in(name.as_bytes(), password.as_bytes(), |login| login)
}

#[test]
fn the_default_user_is_open_until_it_has_a_password() {
    assert!(acl(b"pw").requires_login());
    let acl = acl(b"");
    assert!(!acl.requires_login() && acl.nobody().is_unrestricted());
    assert!(log_in(&acl, "default", "anything").is_some());
    acl.set_default_password(b"pw");
    assert!(acl.requires_login());
    assert!(log_in(&acl, "default", "pw").is_some() && log_in(&acl, "default", "x").is_none());
    acl.set_default_password(b"");
    assert!(!acl.requires_login());
    change(&acl, "default", "off").unwrap();
    assert!(acl.requires_login() && log_in(&acl, "default", "x").is_none());
}

#[test]
fn rules_are_applied_all_or_none() {
    let acl = acl(b"");
    assert_eq!(
        change(&acl, "a", "on +get +nosuch"),
        Err((2, RuleError::Unknown))
    );
    assert!(acl.find(b"a").is_none());
    change(&acl, "a", "on >pw +get").unwrap();
    let before = acl.find(b"a").unwrap().text();
    assert_eq!(change(&acl, "a", "+set ~a ("), Err((2, RuleError::Syntax)));
    assert_eq!(acl.find(b"a").unwrap().text(), before);
    let names: Vec<_> = acl.all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [Arc::from(&b"a"[..]), Arc::from(DEFAULT_USER)]);
}

#[test]
fn a_login_sees_what_becomes_of_its_user() {
    let acl = acl(b"");
    change(&acl, "a", "on nopass +@all ~* &*").unwrap();
    let mut login = log_in(&acl, "a", "").unwrap();
    assert!(login.is_unrestricted());
    change(&acl, "a", "-get").unwrap();
    assert!(!login.is_unrestricted());
    assert_eq!(login.user().own_selector().commands_text(), b"+@all -get");
    change(&acl, "a", "+get").unwrap();
    assert_eq!(login.user().own_selector().commands_text(), b"+@all +get");
    assert_eq!(*login.current(), *login.user());
}

#[test]
fn a_user_that_is_gone_is_known_no_more() {
    let acl = acl(b"");
    change(&acl, "a", "on nopass").unwrap();
    let mut told = 0;
    assert!(acl.remove(b"a", || told += 1) && !acl.remove(b"a", || told += 1));
    assert_eq!(told, 1);
    assert!(log_in(&acl, "a", "").is_none());
}

#[test]
fn all_users_are_replaced_at_once() {
    let acl = acl(b"");
    for name in ["gone", "same", "less"] {
        change(&acl, name, "on nopass &a &b").unwrap();
    }
    let mut login = log_in(&acl, "less", "").unwrap();
    let text = b"user same on nopass &b &a\nuser less on nopass &a\nuser new on";
    let users = super::super::parse(&acl.catalogue, text, false).unwrap();
    let replaced = acl.replace(users, b"pw", |replaced| replaced);
    assert_eq!(replaced.gone, [Arc::from(&b"gone"[..])]);
    let less: Vec<_> = replaced
        .hear_less
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(less, [Arc::from(&b"less"[..])]);
    assert_eq!(login.user().own_selector().channels_text(), b"&a");
    let names: Vec<_> = acl.all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [&b"default"[..], b"less", b"new", b"same"].map(Arc::from)
    );
    // Not among them: as at the start.
    assert!(acl.requires_login() && log_in(&acl, "default", "pw").is_some());
    let users = super::super::parse(&acl.catalogue, b"user default on nopass ~* +@all", false);
    acl.replace(users.unwrap(), b"pw", |_| ());
    assert!(!acl.requires_login() && !acl.nobody().is_unrestricted());
}
