//! Where a setting comes from: the command line, the environment, or the file of settings. All of them are read by the
//! one declaration of the flags.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory};

use super::{Arguments, one_line};
use crate::config::file::{self, Entry};

/// Flags that are no settings: the file cannot have them.
const NO_SETTINGS: [&str; 4] = ["config", "help", "print-config", "version"];

/// The settings of a file that neither the command line nor the environment has given.
///
/// # Errors
/// The file cannot be read, has a name that is no setting, or a value that it does not take, overruled or not.
pub(super) fn of_file(file: &Path, given: &ArgMatches) -> Result<Vec<Entry>, clap::Error> {
    let command = without_environment(Arguments::command());
    let mut entries = file::read(file).map_err(error)?;
    for entry in &entries {
        check(&command, entry)
            .map_err(|what| error(format!("{}, line {}: {what}", file.display(), entry.line)))?;
    }
    entries.retain(|entry| {
        let id = flag(&command, &entry.name).map(|flag| flag.get_id().as_str());
        let source = id.and_then(|id| given.value_source(id));
        matches!(source, None | Some(ValueSource::DefaultValue))
    });
    Ok(entries)
}

/// Reads one setting of a file, by itself, as a flag.
fn check(command: &Command, entry: &Entry) -> Result<(), String> {
    let name = &entry.name;
    let line = [OsString::from("tollgate"), entry.as_flag()];
    let parsed = command.clone().try_get_matches_from(line);
    let is_setting = flag(command, name).is_some();
    match parsed {
        Ok(_) if is_setting => Ok(()),
        Err(error) if is_setting => {
            let text = one_line(&error);
            Err(text.replace(&format!("'{}'", shown(&error)), name))
        }
        result => {
            let near = result.err().and_then(|error| suggestion(&error));
            let near = near.filter(|near| !NO_SETTINGS.contains(&near.as_str()));
            let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            Err(format!(
                "there is no setting '{}'{near}",
                name.escape_debug()
            ))
        }
    }
}

/// The flag of a setting.
fn flag<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut flags = command.get_arguments();
    flags.find(|flag| flag.get_long() == Some(name) && !NO_SETTINGS.contains(&name))
}

/// The flag that clap takes for the one that was meant.
fn suggestion(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(flag) => Some(flag.trim_start_matches('-').to_owned()),
        _ => None,
    }
}

/// The error about a value that came from the environment, with the variable's name; `None` if it came from the
/// command line.
pub(super) fn of_environment(line: &[OsString], error: &clap::Error) -> Option<clap::Error> {
    if !matches!(
        error.kind(),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation
    ) {
        return None;
    }
    let alone = without_environment(Arguments::command()).try_get_matches_from(line);
    if alone.is_err_and(|alone| shown(&alone) == shown(error)) {
        return None;
    }
    let flag = shown(error);
    let mut command = Arguments::command();
    // Only then do the flags know how they are written.
    command.build();
    let variable = command
        .get_subcommands()
        .chain([&command])
        .flat_map(Command::get_arguments)
        .find(|argument| argument.to_string() == flag)?
        .get_env()?
        .to_string_lossy()
        .into_owned();
    let text = one_line(error).replace(&format!("'{flag}'"), &format!("{variable} ({flag})"));
    Some(self::error(text))
}

/// The flag that an error is about, as clap writes it.
fn shown(error: &clap::Error) -> String {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => flag.clone(),
        _ => String::new(),
    }
}

fn without_environment(command: Command) -> Command {
    let without = |command: Command| command.mut_args(|flag| flag.env(Resettable::Reset));
    without(command).mut_subcommands(without)
}

fn error(line: String) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, line)
}

/// All settings as a file of settings, each with the place that it comes from. What is secret is not shown.
pub(super) fn show(given: &ArgMatches, from_file: &[Entry]) -> String {
    let mut text = String::new();
    let command = Arguments::command();
    for flag in command.get_arguments() {
        let Some(name) = flag.get_long().filter(|name| !NO_SETTINGS.contains(name)) else {
            continue;
        };
        let line = from_file.iter().find(|entry| entry.name == name);
        let source = match (line, given.value_source(flag.get_id().as_str())) {
            (Some(entry), _) => format!("line {}", entry.line),
            (None, Some(ValueSource::EnvVariable)) => {
                let variable = flag.get_env().unwrap_or_default();
                variable.to_string_lossy().into_owned()
            }
            (None, Some(ValueSource::CommandLine)) => format!("--{name}"),
            _ => "default".to_owned(),
        };
        let values = given.get_raw(flag.get_id().as_str());
        // Those of a list with spaces between, as the file has them.
        let value = values.map(|values| values.collect::<Vec<_>>().join(OsStr::new(" ")));
        // Writing to a text does not fail.
        let _ = match value {
            None => writeln!(text, "# {name} is not set"),
            Some(value) if flag.is_hide_env_values_set() && !value.is_empty() => {
                writeln!(text, "# {name} is not shown ({source})")
            }
            Some(value) => writeln!(
                text,
                "{name} = {}  # {source}",
                quoted(&value.to_string_lossy())
            ),
        };
    }
    text
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::config::ListenPort;

    fn with_file(text: &str, flags: &[&str]) -> Result<super::super::Parsed, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tollgate.toml");
        std::fs::write(&path, text).unwrap();
        let line = ["tollgate", "--config", path.to_str().unwrap()];
        let line = line.iter().chain(flags).map(OsString::from);
        parse(line).map_err(|error| one_line(&error))
    }

    #[test]
    fn a_flag_wins_over_the_file() {
        let text = "port = 7000\nsave = \"\"\nbind = [\"127.0.0.1\", \"::1\"]\nprotected-mode = false\n\
                    tls-port = 7001\nrequirepass = \"s3cret\"\n";
        let parsed = with_file(text, &["--port", "7002"]).unwrap();
        let config = parsed.arguments.config;
        assert_eq!(config.port, ListenPort::Number(7002));
        assert_eq!(config.tls.tls_port, ListenPort::Number(7001));
        assert_eq!((config.save, config.protected_mode), (0, false));
        assert_eq!(config.bind.0.len(), 2);
        assert_eq!(config.password().unwrap().reveal(), b"s3cret");
        assert!(!parsed.password_is_visible);
    }

    #[test]
    fn a_bad_line_is_told() {
        for (text, expected) in [
            (
                "\nmaxclients = 0\n",
                "line 2: invalid value '0' for maxclients",
            ),
            (
                "max_clients = 5\n",
                "line 1: there is no setting 'max_clients'; did you mean 'maxclients'?",
            ),
            (
                "loglevel = \"loud\"\n",
                "line 1: invalid value 'loud' for loglevel",
            ),
            ("nonsense = 1\n", "line 1: there is no setting 'nonsense'"),
            ("config = \"x\"\n", "line 1: there is no setting 'config'"),
            ("help = true\n", "line 1: there is no setting 'help'"),
            (
                "log-format = \"xml\"\n",
                "line 1: invalid value 'xml' for log-format",
            ),
            ("\"\" = 1\n", "line 1: there is no setting ''"),
            ("port = 1\n\nport = 2\n", "line 3: duplicate key"),
        ] {
            let line = with_file(text, &[]).unwrap_err();
            assert!(line.contains(expected), "{text:?}: {line}");
            assert!(!line.contains('\n'), "{line}");
        }
        // Also if a flag overrules it.
        assert!(with_file("port = 70000\n", &["--port", "1"]).is_err());
        let missing = ["tollgate", "--config", "/no/such/file"].map(OsString::from);
        assert!(one_line(&parse(missing).unwrap_err()).contains("/no/such/file"));
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let shown = |text: &str| with_file(text, &["--print-config"]).unwrap().shown.unwrap();
        let first = shown("save = 5\ndir = \"/a \\\"b\\\\\"\nrequirepass = \"s3cret\"\n");
        assert!(first.contains("save = \"5\"  # line 1\n"), "{first}");
        assert!(first.contains("port = \"6379\"  # default\n"), "{first}");
        assert!(
            first.contains("# requirepass is not shown (line 3)\n"),
            "{first}"
        );
        assert!(first.contains("# tls-cert-file is not set\n"), "{first}");
        let again = shown(&first);
        let values = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.contains("requirepass"));
            lines
                .map(|line| line.split("  #").next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(values(&first), values(&again));
    }
}
