//! Policies from a file at start.

use crate::command::arguments::Cursor;
use crate::command::ratelimit::policy;
use crate::protocol::OwnedArguments;
use crate::store::Policies;
use std::path::Path;

/// Largest file of policies: ten thousand of the longest.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads `file`, one `name <limit> [AND <limit>]...` a line; empty lines and lines that begin with `#` are
/// passed over. How many there were. All of them are good, or none is stored.
///
/// # Errors
/// One line that names the file, the line and what is wrong with it.
pub(super) fn load(policies: &Policies, file: &Path) -> Result<usize, String> {
    let shown = file.display();
    let length = std::fs::metadata(file)
        .map_err(|error| format!("the policies in {shown} cannot be read: {error}"))?
        .len();
    if length > BYTES_MAX {
        return Err(format!("the policies in {shown} are more than 16 MiB"));
    }
    let text = std::fs::read(file)
        .map_err(|error| format!("the policies in {shown} cannot be read: {error}"))?;
    let mut read = Vec::new();
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let words: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        if words.first().is_none_or(|word| word.starts_with(b"#")) {
            continue;
        }
        // The grammar begins behind a command's name.
        let words: Vec<&[u8]> = [&b"policy"[..]].into_iter().chain(words).collect();
        let words = OwnedArguments::from_slices(&words);
        let mut cursor = Cursor::new(words.as_arguments());
        let policy = policy::name(&mut cursor)
            .and_then(|name| Ok((name.to_vec(), policy::limits(&mut cursor)?)));
        let policy = policy.map_err(|error| {
            let error = error.to_string();
            format!(
                "{shown}, line {}: {}",
                number + 1,
                error.strip_prefix("ERR ").unwrap_or(&error)
            )
        })?;
        read.push(policy);
    }
    let count = read.len();
    if !read
        .into_iter()
        .all(|(name, limits)| policies.set(&name, limits))
    {
        return Err(format!("{shown} has more than 10000 policies"));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(text: &str) -> (Policies, Result<usize, String>) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("policies");
        std::fs::write(&file, text).unwrap();
        let policies = Policies::default();
        let result = load(&policies, &file);
        (policies, result)
    }

    #[test]
    fn a_file_holds_a_policy_a_line() {
        let (policies, count) = loaded("# ours\n\nmeta LOG 7 2s AND LOG 150 60s\r\nslow PACE 1/5m");
        assert_eq!(count, Ok(2));
        let shown = |name: &[u8]| {
            policies
                .limits(name)
                .unwrap()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(b"meta"), ["LOG 7 2s", "LOG 150 1m"]);
        assert_eq!(shown(b"slow"), ["PACE 1/300s"]);
    }

    #[test]
    fn a_bad_line_is_named_and_nothing_is_stored() {
        let (policies, error) = loaded("good 80 80\nbad 0 80\n");
        let error = error.unwrap_err();
        assert!(error.contains("line 2: capacity must be"), "{error}");
        assert!(policies.names().is_empty());
        assert!(
            loaded("nested POLICY good")
                .1
                .unwrap_err()
                .contains("no POLICY")
        );
        assert!(
            load(&policies, Path::new("no such file"))
                .unwrap_err()
                .contains("cannot be read")
        );
    }
}
