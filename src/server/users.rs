//! The file of users.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::acl;
use crate::engine::Engine;
use crate::persistence::{self, disk::Machine};
use crate::session::Completion;

/// Largest file of users: as many as there may be, with some hundred bytes of rules each.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// So many wrong lines are told.
const TOLD_MAX: usize = 10;

/// [`load`] at start; what a save that was killed has left beside the file goes.
pub(super) fn load_at_start(engine: &Engine, file: &Path) -> Result<usize, String> {
    // If it cannot, it stays, and harms nobody.
    let _ = persistence::remove_leftovers(&Machine, file);
    load(engine, file)
}

/// `ACL LOAD`.
pub(super) async fn reload(engine: Arc<Engine>) -> Completion {
    away(engine, |engine, file| load(engine, file).map(drop)).await
}

/// `ACL SAVE`. What failed is for the log.
pub(super) async fn store(engine: Arc<Engine>) -> Completion {
    const FAILED: &str = "There was an error trying to save the ACLs. Please check the server logs for more information";
    away(engine, |engine, file| {
        save(engine, file).map_err(|error| {
            tracing::error!("{error}");
            FAILED.to_owned()
        })
    })
    .await
}

/// Works on the file of users away from the threads that serve.
async fn away(
    engine: Arc<Engine>,
    work: impl FnOnce(&Engine, &Path) -> Result<(), String> + Send + 'static,
) -> Completion {
    let done = spawn_blocking(move || match engine.shared.settings.aclfile() {
        Some(file) => work(&engine, file),
        None => Err("there is no file of users".to_owned()),
    });
    let result = done.await.unwrap_or_else(|error| Err(error.to_string()));
    match result {
        Ok(()) => Completion::Done,
        Err(error) => Completion::Failed(format!("ERR {error}")),
    }
}

/// Reads users from `file` and puts them in the place of those of before; how many there are now. All of them are good,
/// or nothing has changed.
///
/// # Errors
/// One line that names the file, and the number of each line that is wrong.
pub(super) fn load(engine: &Engine, file: &Path) -> Result<usize, String> {
    let shown = file.display();
    let failed = |error| format!("Error loading ACLs, opening file '{shown}': {error}");
    let mut text = Vec::new();
    let opened = std::fs::File::open(file).map_err(failed)?;
    // One byte more tells that there are too many.
    let read = opened.take(BYTES_MAX + 1).read_to_end(&mut text);
    if read.map_err(failed)? as u64 > BYTES_MAX {
        return Err(format!(
            "Error loading ACLs: '{shown}' is larger than 64 MiB"
        ));
    }
    engine.load_users(&text).map_err(|errors| {
        let told = errors.iter().take(TOLD_MAX);
        let mut line: String = told
            .map(|error| format!("{shown}:{}: {error}. ", error.line))
            .collect();
        if errors.len() > TOLD_MAX {
            line += &format!("{} more. ", errors.len() - TOLD_MAX);
        }
        line + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
    })
}

/// Writes all users to `file`, which is replaced as a whole.
///
/// # Errors
/// One line that says what failed; the file is as it was.
pub(super) fn save(engine: &Engine, file: &Path) -> Result<(), String> {
    let text = acl::write(&engine.shared.acl.all());
    if text.len() as u64 > BYTES_MAX {
        return Err("the users were not saved: a file of them has at most 64 MiB".to_owned());
    }
    let saved = persistence::replace(&Machine, file, |file| file.append(&text));
    saved.map_err(|error| {
        let (file, step, source) = (file.display(), error.step.doing(), error.source);
        format!("the users were not saved to {file}: {step} failed: {source}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::core::units::Timestamp;
    use crate::settings::Settings;

    fn engine() -> Engine {
        Engine::new(Clock::manual(Timestamp::ZERO), Settings::default())
    }

    fn names(engine: &Engine) -> Vec<String> {
        let users = engine.shared.acl.all();
        users
            .iter()
            .map(|(name, _)| name.escape_ascii().to_string())
            .collect()
    }

    #[test]
    fn what_is_saved_is_loaded_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("users.acl");
        std::fs::write(&file, "user t7 on >pw ~t7:* +@ratelimit\n").unwrap();
        let one = engine();
        assert_eq!(load(&one, &file), Ok(2));
        assert_eq!(names(&one), ["default", "t7"]);
        save(&one, &file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("user t7 on sanitize-payload #30c952"),
            "{text}"
        );
        let other = engine();
        load(&other, &file).unwrap();
        assert_eq!(acl::write(&other.shared.acl.all()), text.as_bytes());
    }

    #[test]
    fn a_bad_file_changes_nothing_and_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("users.acl");
        let engine = engine();
        let missing = load(&engine, &file).unwrap_err();
        assert!(missing.contains("users.acl': No such file"), "{missing}");
        std::fs::write(&file, "user a on\nuser b on +nosuch\n").unwrap();
        let wrong = load(&engine, &file).unwrap_err();
        assert!(
            wrong.contains("users.acl:2: Error in applying operation '+nosuch': Unknown command"),
            "{wrong}"
        );
        std::fs::write(&file, "user\n".repeat(30)).unwrap();
        let many = load(&engine, &file).unwrap_err();
        assert!(
            many.contains(":10: ") && !many.contains(":11: ") && many.contains("20 more"),
            "{many}"
        );
        assert_eq!(names(&engine), ["default"]);
        let error = save(&engine, Path::new("/no/such/directory/users.acl")).unwrap_err();
        assert!(error.contains("temporary file"), "{error}");
    }
}
