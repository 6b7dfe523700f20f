//! Policies from a file, at start and on SIGHUP.

use crate::command::arguments::Cursor;
use crate::command::ratelimit::policy;
use crate::protocol::OwnedArguments;
use crate::store::PolicyLimits;
use std::path::Path;

/// Largest file of policies: ten thousand of the longest.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a file holds: names and their limits.
pub(super) type Read = Vec<(Vec<u8>, PolicyLimits)>;

/// Reads `file`, one `name <limit> [AND <limit>]...` a line; empty lines and lines that begin with `#` are
/// passed over.
///
/// # Errors
/// One line that names the file, the line and what is wrong with it.
pub(super) fn read(file: &Path) -> Result<Read, String> {
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
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Read, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("policies");
        std::fs::write(&file, text).unwrap();
        read(&file)
    }

    #[test]
    fn a_file_holds_a_policy_a_line() {
        let text = "# ours\n\nmeta LOG 7 2s AND LOG 150 60s\r\nslow PACE 1/5m";
        let read = read_text(text).unwrap();
        let shown: Vec<String> = read
            .iter()
            .map(|(name, limits)| {
                let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
                format!("{}: {}", name.escape_ascii(), limits.join(", "))
            })
            .collect();
        assert_eq!(shown, ["meta: LOG 7 2s, LOG 150 1m", "slow: PACE 1/300s"]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = read_text("good 80 80\nbad 0 80\n").unwrap_err();
        assert!(error.contains("line 2: capacity must be"), "{error}");
        let nested = read_text("nested POLICY good").unwrap_err();
        assert!(nested.contains("no POLICY"), "{nested}");
        let missing = read(Path::new("no such file")).unwrap_err();
        assert!(missing.contains("cannot be read"), "{missing}");
    }
}
