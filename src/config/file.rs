//! The file of settings: a name and a value a line, in TOML. Which names there are, and what they take, the flags say.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Largest file that is read: many times what all settings take.
const BYTES_MAX: u64 = 1024 * 1024;

/// One setting as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The flag's name, without `--`.
    pub name: String,
    /// The value as on the command line.
    pub value: String,
    /// Where it stands, from 1.
    pub line: usize,
}

impl Entry {
    /// The setting as a flag.
    pub fn as_flag(&self) -> OsString {
        format!("--{}={}", self.name, self.value).into()
    }
}

/// The settings of a file, in its order.
///
/// # Errors
/// One line that names the file, and the line of it that is wrong.
pub fn read(file: &Path) -> Result<Vec<Entry>, String> {
    let shown = file.display();
    let failed = |error| format!("the config file {shown} cannot be read: {error}");
    let mut text = String::new();
    let length = File::open(file)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text))
        .map_err(failed)?;
    if length as u64 > BYTES_MAX {
        return Err(format!("the config file {shown} is longer than 1 MiB"));
    }
    parse(&text).map_err(|(line, what)| format!("{shown}, line {line}: {what}"))
}

/// What is wrong, and on which line.
type Wrong = (usize, String);

fn parse(text: &str) -> Result<Vec<Entry>, Wrong> {
    let line = |at: usize| {
        text.as_bytes()[..at.min(text.len())]
            .split(|byte| *byte == b'\n')
            .count()
    };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (line(at), error.message().replace('\n', ", "))
    })?;
    let mut entries = Vec::new();
    for (name, value) in table.get_ref() {
        let line = line(name.span().start);
        let Some(value) = text_of(value) else {
            let takes = "takes a text, a number, true or false, or a list of these";
            return Err((line, format!("{} {takes}", name.get_ref())));
        };
        entries.push(Entry {
            name: name.get_ref().to_string(),
            value,
            line,
        });
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

/// A value as on the command line: `yes` and `no` for true and false, the words of a list with spaces between.
fn text_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    Some(match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Boolean(true) => "yes".to_owned(),
        DeValue::Boolean(false) => "no".to_owned(),
        DeValue::Array(values) => {
            let is_list =
                |value: &&Spanned<DeValue<'_>>| matches!(value.get_ref(), DeValue::Array(_));
            if values.iter().any(|value| is_list(&value)) {
                return None;
            }
            let words: Option<Vec<String>> = values.iter().map(text_of).collect();
            words?.join(" ")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_on_the_command_line() {
        let text = "\
# ours
port = 7_000
bind = [\"127.0.0.1\", \"::1\"]
protected-mode = false

\"max-pause\" = '30m'
slowlog-log-slower-than = -1
";
        let entries = parse(text).unwrap();
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| format!("{} {}={}", entry.line, entry.name, entry.value))
            .collect();
        assert_eq!(
            shown,
            [
                "2 port=7000",
                "3 bind=127.0.0.1 ::1",
                "4 protected-mode=no",
                "6 max-pause=30m",
                "7 slowlog-log-slower-than=-1",
            ]
        );
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, what) in [
            ("a = 1\nb = \n", 2, ""),
            ("a = 1\na = 2\n", 2, "duplicate"),
            ("a = 1\n\n[b]\nc = 1\n", 3, "b takes a text"),
            ("a = 1.5\n", 1, "a takes a text"),
            ("a = [[1]]\n", 1, "a takes a text"),
            ("a = 0x10\n", 1, "a takes a text"),
            ("a = 1979-05-27\n", 1, "a takes a text"),
            ("port 7000\n", 1, ""),
            ("a = \"x\n", 1, ""),
        ] {
            let (found, message) = parse(text).unwrap_err();
            assert_eq!(found, line, "{text:?}: {message}");
            assert!(message.contains(what), "{text:?}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        std::fs::write(&path, b"port = \xff\n").unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        let missing = read(&directory.path().join("none")).unwrap_err();
        assert!(missing.contains("cannot be read"), "{missing}");
    }
}
