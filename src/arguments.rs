//! The command line as a whole: the server's flags, or one of the tools in the same binary.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::client::arguments::{CliArguments, PingArguments};
use crate::client::bench::arguments::BenchArguments;
use crate::client::demo::DemoArguments;
use crate::client::top::arguments::TopArguments;
use crate::config::file::Entry;
use crate::config::{Config, Secret};
use crate::export::ExportArguments;

mod sources;

const ABOUT: &str =
    "A rate-limit server that speaks Redis: without a command it serves, on 127.0.0.1:6379.";

const EXAMPLES: &str = "\
Examples:
  tollgate                                        serve on 127.0.0.1:6379, snapshots in this directory
  tollgate --port 7000 --dir /var/lib/tollgate --save 30
  TOLLGATE_REQUIREPASS=s3cret tollgate --bind '*' serve other machines, with a password
  tollgate cli RL.RESERVE rl:meta:123 80 80 30000 reserve one of 80 a second, waiting up to 30 s
  tollgate ping && echo up                        a health check
  tollgate top                                    what goes on there, live
  tollgate demo                                   some calls to look at
  tollgate bench RL.TAKE __key__ 80 80            how many calls a second, and how long they take
  tollgate export | redis-cli -c -h node1         what a stopped server has kept, into a cluster

Every flag is also an environment variable (--max-pause is TOLLGATE_MAX_PAUSE) and a line in the file of --config
(max-pause = \"24h\"). The flag wins over the environment, and that over the file.";

/// Everything that can stand behind `tollgate`.
#[derive(Parser, Debug)]
#[command(name = "tollgate", version, about = ABOUT, after_help = EXAMPLES, args_conflicts_with_subcommands = true, max_term_width = 110)]
pub struct Arguments {
    /// What to do; nothing given means: serve.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The server's flags.
    #[command(flatten)]
    pub config: Config,
    /// Print the settings, each with the place it comes from, and do not serve
    #[arg(long)]
    pub print_config: bool,
}

/// The tools beside the server.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Ask a running server for a PONG; exit code 0 if it comes, else 1
    Ping(PingArguments),
    /// Send commands to a server: one, or those typed, or those on standard input
    Cli(CliArguments),
    /// Show what goes on at a server, live: calls, the keys that were denied, made to wait, paused most
    Top(TopArguments),
    /// Make some calls to look at, and tell whether the server counted them; removes its keys
    Demo(DemoArguments),
    /// Put a load on a server, of any command, and tell how fast it answers
    Bench(Box<BenchArguments>),
    /// Write the keys of a stopped server as commands, for redis-cli to put them into a cluster
    Export(ExportArguments),
    /// Print the version
    Version,
}

/// Reads a command line, the program's name first, with the environment and the file of settings: a flag wins over
/// the environment, and that over the file.
///
/// # Errors
/// What is wrong with it; also the texts of `--help` and `--version`.
pub fn parse<I>(arguments: I) -> Result<Parsed, clap::Error>
where
    I: IntoIterator<Item = OsString>,
{
    let line: Vec<OsString> = arguments.into_iter().collect();
    let mut matches = parse_line(&line)?;
    let password_is_visible = matches.value_source("requirepass") == Some(ValueSource::CommandLine);
    let mut from_file = Vec::new();
    if let Some(file) = matches.get_one::<PathBuf>("config_file")
        && matches.subcommand_name().is_none()
    {
        from_file = sources::of_file(file, &matches)?;
        let program = line.iter().take(1).cloned();
        let flags = from_file.iter().map(Entry::as_flag);
        let rest = line.iter().skip(1).cloned();
        matches = parse_line(&program.chain(flags).chain(rest).collect::<Vec<_>>())?;
    }
    let shown = matches
        .get_flag("print_config")
        .then(|| sources::show(&matches, &from_file));
    let arguments = Arguments::from_arg_matches_mut(&mut matches)?;
    Ok(Parsed {
        arguments,
        password_is_visible,
        shown,
    })
}

/// Reads a command line with the environment.
fn parse_line(line: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let parsed = Arguments::command().try_get_matches_from(line);
    parsed.map_err(|error| sources::of_environment(line, &error).unwrap_or(error))
}

/// A command line that was understood.
#[derive(Debug)]
pub struct Parsed {
    /// What it says.
    pub arguments: Arguments,
    /// True if the server's password stands on it, where every user of the machine can read it.
    pub password_is_visible: bool,
    /// The settings as `--print-config` shows them, if that was asked for.
    pub shown: Option<String>,
}

/// The same command line without `--requirepass`, for a second start that has it in the environment.
pub fn without_password(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut skip_value = false;
    for argument in arguments {
        if std::mem::take(&mut skip_value) {
            continue;
        }
        if argument == OsStr::new("--requirepass") {
            skip_value = true;
        } else if !argument.as_bytes().starts_with(b"--requirepass=") {
            kept.push(argument);
        }
    }
    kept
}

/// The password on the command line, for [`without_password`]'s second start.
pub fn password_text(secret: &Secret) -> &str {
    &secret.0
}

/// clap's several lines about a wrong command line, as one.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let useful = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let words: Vec<&str> = useful
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let line = words.join("; ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; try 'tollgate --help'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BindAddress, BindAddresses, ListenPort};

    fn arguments(words: &[&str]) -> Result<Arguments, String> {
        let line = std::iter::once("tollgate")
            .chain(words.iter().copied())
            .map(OsString::from);
        parse(line)
            .map(|parsed| parsed.arguments)
            .map_err(|error| one_line(&error))
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_the_settings() {
        let config = arguments(&[]).unwrap().config;
        let listening = crate::config::Listening {
            port: 6379,
            tls_port: 0,
            bind: vec![[127, 0, 0, 1].into()],
            metrics: "no".to_owned(),
            maxclients: config.maxclients,
        };
        let from_flags =
            crate::settings::Settings::new(config.initial_settings(listening).unwrap());
        let by_default = crate::settings::Settings::default();
        for name in crate::settings::Settings::names().filter(|name| *name != "dir") {
            assert_eq!(from_flags.get(name), by_default.get(name), "{name}");
        }
        assert_eq!(config.bind, BindAddresses::parse("127.0.0.1").unwrap());
        assert_eq!(
            config.snapshot_path(),
            std::path::Path::new("./tollgate.snapshot")
        );
    }

    #[test]
    fn addresses_are_separated_by_commas_or_spaces() {
        let bind = |value: &str| {
            let bind = arguments(&["--bind", value])?.config.bind;
            let shown = |address: &BindAddress| {
                format!(
                    "{}{}",
                    if address.optional { "-" } else { "" },
                    address.name
                )
            };
            Ok::<_, String>(bind.0.iter().map(shown).collect::<Vec<_>>())
        };
        assert_eq!(bind("127.0.0.1 ::1").unwrap(), ["127.0.0.1", "::1"]);
        assert_eq!(
            bind("10.0.0.1, [::1],10.0.0.1").unwrap(),
            ["10.0.0.1", "::1"]
        );
        assert_eq!(bind("* -::*").unwrap(), ["0.0.0.0", "-::"]);
        assert_eq!(bind("-::1 ::1").unwrap(), ["::1"]);
        assert!(bind(" , ").is_err());
        assert!(bind("-").is_err());
    }

    #[test]
    fn every_refusal_is_one_line_that_names_the_flag() {
        let cases: [&[&str]; 14] = [
            &["--port", "65536"],
            &["--port", "x"],
            &["--maxclients", "0"],
            &["--databases", "17"],
            &["--databases", "0"],
            &["--save", "often"],
            &["--max-pause", "0s"],
            &["--max-pause", "3651d"],
            &["--loglevel", "loud"],
            &["--dbfilename", "a/b"],
            &["--protected-mode", "maybe"],
            &["--client-output-limit", "1"],
            &["--clock", "sundial"],
            &["--threads", "0"],
        ];
        for case in cases {
            let line = arguments(case).unwrap_err();
            assert!(
                !line.contains('\n') && line.contains(case[0]),
                "{case:?}: {line}"
            );
        }
        assert!(
            arguments(&["--no-such-flag"])
                .unwrap_err()
                .contains("--no-such-flag")
        );
        assert!(arguments(&["sevre"]).unwrap_err().contains("sevre"));
    }

    #[test]
    fn save_has_several_words_for_off() {
        for off in ["0", "", "no"] {
            assert_eq!(arguments(&["--save", off]).unwrap().config.save, 0);
        }
        assert_eq!(arguments(&["--save", "60 1"]).unwrap().config.save, 60);
    }

    #[test]
    fn kubernetes_service_links_are_not_taken_for_the_port() {
        let link = "tcp://10.0.0.1:6379";
        let config = arguments(&["--port", link, "--tls-port", link])
            .unwrap()
            .config;
        assert_eq!(config.port, ListenPort::Number(6379));
        assert_eq!(config.tls.tls_port, ListenPort::Off);
    }

    #[test]
    fn the_password_is_not_shown() {
        let parsed = arguments(&["--requirepass", "s3cret"]).unwrap();
        assert!(!format!("{parsed:?}").contains("s3cret"));
        assert_eq!(parsed.config.password().unwrap().reveal(), b"s3cret");
        let too_long = arguments(&["--requirepass", &"s3cret".repeat(100)]).unwrap();
        assert!(
            !too_long
                .config
                .password()
                .unwrap_err()
                .to_string()
                .contains("s3cret")
        );
    }

    #[test]
    fn the_password_is_taken_off_the_command_line() {
        let line = [
            "tollgate",
            "--requirepass",
            "a",
            "--port",
            "1",
            "--requirepass=b",
            "--requirepass-file",
            "c",
        ];
        let kept = without_password(line.iter().map(OsString::from));
        assert_eq!(kept, ["tollgate", "--port", "1", "--requirepass-file", "c"]);
    }

    #[test]
    fn the_first_line_of_a_file_is_the_password() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let with = |text: &str| {
            std::fs::write(&path, text).unwrap();
            arguments(&["--requirepass-file", path.to_str().unwrap()])
                .unwrap()
                .config
                .password()
        };
        assert_eq!(with("pass word\r\nmore\n").unwrap().reveal(), b"pass word");
        assert_eq!(with("pw").unwrap().reveal(), b"pw");
        assert!(with("\n").unwrap_err().to_string().contains("is empty"));
        let both = arguments(&[
            "--requirepass-file",
            path.to_str().unwrap(),
            "--requirepass",
            "x",
        ])
        .unwrap();
        assert!(
            both.config
                .password()
                .unwrap_err()
                .to_string()
                .contains("keep one")
        );
    }

    #[test]
    fn tools_take_their_own_flags() {
        assert!(matches!(
            arguments(&["version"]).unwrap().command,
            Some(Command::Version)
        ));
        let Some(Command::Cli(cli)) = arguments(&["cli", "-p", "7000", "-3", "SET", "-k", "--raw"])
            .unwrap()
            .command
        else {
            panic!("not cli");
        };
        assert_eq!((cli.target.port, cli.resp3, cli.raw), (7000, true, false));
        assert_eq!(cli.words, ["SET", "-k", "--raw"]);
        assert!(arguments(&["--port", "1", "ping"]).is_err());
    }
}
