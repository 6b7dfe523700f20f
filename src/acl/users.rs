//! All users, and who a connection is.

use super::catalogue::Catalogue;
use super::log::Log;
use super::password::Hash;
use super::rule::RuleError;
use super::user::User;
use super::{DEFAULT_USER, USERS_MAX};
use crate::seldom::Seldom;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Least nanoseconds from one line of the log about failed logins to the next.
const ALARM_APART_NS: u64 = 1_000_000_000;

/// A user under its name, for as long as there is one of that name. What it may do can change meanwhile.
pub struct Account {
    name: Arc<[u8]>,
    /// It may do everything: nothing else is asked then.
    unrestricted: AtomicBool,
    /// How often it has changed.
    version: AtomicU64,
    user: RwLock<Arc<User>>,
}

impl Account {
    fn new(name: &[u8], user: User) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            unrestricted: AtomicBool::new(user.is_unrestricted()),
            version: AtomicU64::new(0),
            user: RwLock::new(Arc::new(user)),
        })
    }

    /// Its name.
    pub fn name(&self) -> &Arc<[u8]> {
        &self.name
    }

    /// The user as it is now.
    pub fn user(&self) -> Arc<User> {
        self.user.read().clone()
    }

    fn set(&self, user: User) {
        let mut current = self.user.write();
        self.unrestricted
            .store(user.is_unrestricted(), Ordering::Release);
        *current = Arc::new(user);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// Who a connection is, with what that user may do as of its last look.
pub struct Login {
    account: Arc<Account>,
    version: u64,
    user: Arc<User>,
}

impl Login {
    /// A connection that is that user.
    pub fn new(account: Arc<Account>) -> Self {
        let version = account.version.load(Ordering::Acquire);
        let user = account.user();
        Self {
            account,
            version,
            user,
        }
    }

    /// The user's name.
    pub fn name(&self) -> &Arc<[u8]> {
        self.account.name()
    }

    /// True if it may do everything.
    pub fn is_unrestricted(&self) -> bool {
        self.account.unrestricted.load(Ordering::Acquire)
    }

    /// The user as it is now, read anew.
    pub fn current(&self) -> Arc<User> {
        self.account.user()
    }

    /// The user as it is now.
    pub fn user(&mut self) -> &User {
        let version = self.account.version.load(Ordering::Acquire);
        if version != self.version {
            // Read first: should it change once more meanwhile, the next look sees that.
            self.version = version;
            self.user = self.account.user();
        }
        &self.user
    }
}

/// What has become of the users of before, when others took their place.
pub struct Replaced {
    /// Names of those that are no more.
    pub gone: Vec<Arc<[u8]>>,
    /// Those that may not listen to all that they could.
    pub hear_less: Vec<(Arc<[u8]>, Arc<User>)>,
}

type Accounts = BTreeMap<Arc<[u8]>, Arc<Account>>;

/// All users. There is always one called `default`.
pub struct Acl {
    /// The commands that there are.
    pub catalogue: Catalogue,
    /// What was denied.
    pub log: Mutex<Log>,
    /// Rings when a login has failed.
    pub alarm: Seldom,
    accounts: RwLock<Accounts>,
    /// The default user's, which is there for ever.
    default: Arc<Account>,
    /// Connections are the default user without logging in.
    open: AtomicBool,
}

impl Acl {
    /// With the default user alone, which takes `password`; none if that is empty.
    pub fn new(catalogue: Catalogue, password: &[u8]) -> Self {
        let default = Account::new(DEFAULT_USER, User::open(&catalogue));
        let acl = Self {
            catalogue,
            log: Mutex::default(),
            alarm: Seldom::one_each(ALARM_APART_NS),
            accounts: RwLock::new([(default.name.clone(), default.clone())].into()),
            default,
            open: AtomicBool::new(true),
        };
        acl.set_default_password(password);
        acl
    }

    /// True if a connection must log in before it may run commands.
    pub fn requires_login(&self) -> bool {
        !self.open.load(Ordering::Relaxed)
    }

    /// A connection that has not said who it is.
    pub fn nobody(&self) -> Login {
        Login::new(self.default.clone())
    }

    /// The default user.
    pub fn default_user(&self) -> Arc<User> {
        self.default.user()
    }

    /// Gives the default user this password and no other; any will do if it is empty.
    pub fn set_default_password(&self, password: &[u8]) {
        let _accounts = self.accounts.write();
        self.set(
            &self.default,
            with_password(&self.catalogue, &self.default.user(), password),
        );
    }

    /// Puts a user in the place of the one of before, while the accounts are locked.
    fn set(&self, account: &Arc<Account>, user: User) {
        if Arc::ptr_eq(account, &self.default) {
            self.open.store(user.is_open(), Ordering::Relaxed);
        }
        account.set(user);
    }

    /// Logs in: who the connection is then, told to `become` before any user can go. `None` if there is no such user, it
    /// is off, or the password is not its own, which take the same time.
    pub fn log_in<R>(
        &self,
        name: &[u8],
        password: &[u8],
        become_user: impl FnOnce(Login) -> R,
    ) -> Option<R> {
        let hash = Hash::of(password);
        let accounts = self.accounts.read();
        let account = accounts.get(name);
        // Compared in any case, so that names cannot be told by the time it takes.
        let user = account.unwrap_or(&self.default).user();
        let accepts = user.accepts(&hash);
        let account = account.filter(|_| accepts)?;
        Some(become_user(Login::new(account.clone())))
    }

    /// The user of that name, as it is now.
    pub fn find(&self, name: &[u8]) -> Option<Arc<User>> {
        self.accounts.read().get(name).map(|account| account.user())
    }

    /// All users, by name.
    pub fn all(&self) -> Vec<(Arc<[u8]>, Arc<User>)> {
        let accounts = self.accounts.read();
        let all = accounts.iter();
        all.map(|(name, account)| (name.clone(), account.user()))
            .collect()
    }

    /// Applies rules to a user, who is made if there is none of that name: all of them, or none if one is refused. The
    /// user before and after, told to `f` while no other user changes.
    ///
    /// # Errors
    /// The place of the rule that was refused among `rules`, and why; `rules.len()` if there are too many users.
    pub fn change<R>(
        &self,
        name: &[u8],
        rules: &[Vec<u8>],
        open_channels: bool,
        f: impl FnOnce(Option<Arc<User>>, Arc<User>) -> R,
    ) -> Result<R, (usize, RuleError)> {
        let mut accounts = self.accounts.write();
        let account = accounts.get(name).cloned();
        let before = account.as_ref().map(|account| account.user());
        let mut user = match &before {
            Some(user) => User::clone(user),
            None if accounts.len() >= USERS_MAX => return Err((rules.len(), RuleError::TooMany)),
            None => User::new(open_channels),
        };
        user.set_open_channels(open_channels);
        for (index, rule) in rules.iter().enumerate() {
            let applied = user.apply(&self.catalogue, rule);
            applied.map_err(|error| (index, error))?;
        }
        let account = account.unwrap_or_else(|| {
            let account = Account::new(name, User::new(open_channels));
            accounts.insert(account.name.clone(), account.clone());
            account
        });
        self.set(&account, user);
        Ok(f(before, account.user()))
    }

    /// Takes a user out, and calls `f` before anybody can log in or out; true if there was one. Not the default one.
    pub fn remove(&self, name: &[u8], f: impl FnOnce()) -> bool {
        debug_assert_ne!(name, DEFAULT_USER);
        let mut accounts = self.accounts.write();
        let removed = accounts.remove(name).is_some();
        if removed {
            f();
        }
        removed
    }

    /// Puts all of `users` in the place of those of before, and tells `f` what that means for who is logged in, before
    /// anybody can log in. A default user that is not among them is as at the start, with `password`.
    pub fn replace<R>(
        &self,
        mut users: BTreeMap<Vec<u8>, User>,
        password: &[u8],
        f: impl FnOnce(Replaced) -> R,
    ) -> R {
        let mut accounts = self.accounts.write();
        let default = || with_password(&self.catalogue, &User::open(&self.catalogue), password);
        users.entry(DEFAULT_USER.to_vec()).or_insert_with(default);
        let mut replaced = Replaced {
            gone: Vec::new(),
            hear_less: Vec::new(),
        };
        accounts.retain(|name, account| {
            let Some(user) = users.remove(&**name) else {
                replaced.gone.push(name.clone());
                return false;
            };
            let hears_less = !user.hears_all_that(&account.user());
            self.set(account, user);
            if hears_less {
                replaced.hear_less.push((name.clone(), account.user()));
            }
            true
        });
        for (name, user) in users {
            let account = Account::new(&name, user);
            accounts.insert(account.name.clone(), account);
        }
        f(replaced)
    }
}

/// A user with this password and no other; any will do if it is empty.
fn with_password(catalogue: &Catalogue, user: &User, password: &[u8]) -> User {
    let mut user = user.clone();
    let rules = match password.is_empty() {
        true => [b"resetpass".to_vec(), b"nopass".to_vec()],
        false => [b"resetpass".to_vec(), [b">", password].concat()],
    };
    for rule in rules {
        let applied = user.apply(catalogue, &rule);
        debug_assert_eq!(applied, Ok(()));
    }
    user
}

#[cfg(test)]
#[path = "users_tests.rs"]
mod tests;
