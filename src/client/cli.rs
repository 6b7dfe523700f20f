//! `tollgate cli`: one command, a prompt, or a list of commands on standard input.

use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::arguments::{CliArguments, DEFAULT_USER};
use super::connection::{ClientError, Connection};
use super::print::{Style, print};
use super::reply::{Reply, error_text};
use crate::password::Password;
use crate::protocol::{RequestLimits, Scan, Scanner};

/// Longest line that is read from standard input, in bytes: what the splitter takes, and a line end.
const LINE_MAX: u64 = 64 * 1024 + 2;

const HELP: &str = "\
Type a command and its arguments; quote what holds spaces: \"a b\" or 'a b'.
  RL.RESERVE rl:meta:123 80 80 30000    milliseconds to wait for one of 80 a second, at most 30000
  RL.USAGE rl:meta:123                  how the key stands
  COMMAND DOCS RL.RESERVE               what a command takes
  exit                                  (or Ctrl-D)";

/// Runs the client; true if all is well, false if a single command got an error for a reply.
///
/// # Errors
/// A line that says why there is no reply.
pub fn run(arguments: &CliArguments) -> Result<bool, String> {
    let password = arguments
        .target
        .password()
        .map_err(|error| error.to_string())?;
    let mut client = Client {
        arguments,
        user: arguments.target.user.clone(),
        password,
        connection: None,
        database: arguments.database,
        resp3: arguments.resp3,
    };
    let result = if !arguments.words.is_empty() {
        let words: Vec<Vec<u8>> = arguments
            .words
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect();
        client.run_command(&words)
    } else if io::stdin().is_terminal() {
        client.prompt()
    } else {
        client.read_commands(io::stdin().lock())
    };
    match result {
        Ok(fine) => Ok(fine),
        // Whoever read the output has gone; that is no failure.
        Err(ClientError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(error.to_string()),
    }
}

struct Client<'a> {
    arguments: &'a CliArguments,
    user: String,
    password: Password,
    connection: Option<Connection>,
    database: u64,
    resp3: bool,
}

impl Client<'_> {
    fn connect(&mut self) -> Result<&mut Connection, ClientError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = Connection::open(&self.arguments.target, None)?;
                match connection.prepare(&self.user, &self.password, self.resp3, self.database) {
                    // As redis-cli: say so and go on, the user may know what to type next.
                    Err(ClientError::Refused(text)) => {
                        eprintln!("tollgate: the server says: {text}")
                    }
                    other => other?,
                }
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }

    /// Sends one command and prints what comes; false if that is an error.
    fn run_command(&mut self, words: &[Vec<u8>]) -> Result<bool, ClientError> {
        let style = self.style(words);
        let listens = is_one_of(
            words.first(),
            &["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR"],
        );
        let unsubscribes = is_one_of(
            words.first(),
            &["UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"],
        );
        // For each name one, which in RESP3 is a push and yet the answer.
        let mut confirmations = match unsubscribes {
            true => words.len().max(2) - 1,
            false => 0,
        };
        let connection = self.connect()?;
        connection.send(words)?;
        let mut fine = true;
        loop {
            let reply = connection.receive()?;
            show(&print(&reply, style))?;
            fine &= error_text(&reply).is_none();
            let is_push = matches!(reply, Reply::Push { .. });
            let goes_on = if confirmations > 0 && (is_push || matches!(reply, Reply::Array { .. }))
            {
                confirmations -= 1;
                confirmations > 0
            } else {
                is_push || (listens && fine)
            };
            if !goes_on {
                break;
            }
        }
        if fine {
            self.remember(words);
        }
        Ok(fine)
    }

    /// What a new connection must be told, and what the prompt shows, after `words` succeeded.
    fn remember(&mut self, words: &[Vec<u8>]) {
        let number = |word: &[u8]| {
            std::str::from_utf8(word)
                .ok()
                .and_then(|text| text.parse().ok())
        };
        match words {
            [command, database] if command.eq_ignore_ascii_case(b"SELECT") => {
                self.database = number(database).unwrap_or(self.database);
            }
            [command, version, ..] if command.eq_ignore_ascii_case(b"HELLO") => {
                self.resp3 = version == b"3"
            }
            [command] if command.eq_ignore_ascii_case(b"RESET") => {
                (self.database, self.resp3) = (0, false)
            }
            [command] if command.eq_ignore_ascii_case(b"QUIT") => self.connection = None,
            [command, rest @ ..] if command.eq_ignore_ascii_case(b"AUTH") => {
                let given = rest.last().and_then(|word| Password::new(word).ok());
                self.password = given.unwrap_or_default();
                let user = rest.first().filter(|_| rest.len() > 1);
                self.user = user.map_or_else(
                    || DEFAULT_USER.to_owned(),
                    |name| String::from_utf8_lossy(name).into_owned(),
                );
            }
            _ => {}
        }
    }

    fn style(&self, words: &[Vec<u8>]) -> Style {
        let raw = !self.arguments.no_raw && (self.arguments.raw || !io::stdout().is_terminal());
        if raw || is_text(words) {
            Style::Raw
        } else {
            Style::Pretty
        }
    }

    /// Commands from a file or another program, one a line.
    fn read_commands(&mut self, mut input: impl BufRead) -> Result<bool, ClientError> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if io::Read::take(&mut input, LINE_MAX).read_until(b'\n', &mut line)? == 0 {
                return Ok(true);
            }
            match split(&line) {
                Ok(words) if words.is_empty() => {}
                Ok(words) => drop(self.run_command(&words)?),
                Err(reason) => show(format!("(error) invalid arguments: {reason}\n").as_bytes())?,
            }
        }
    }

    /// The prompt, with a history that is kept from one time to the next.
    fn prompt(&mut self) -> Result<bool, ClientError> {
        let mut editor = DefaultEditor::new().map_err(io::Error::other)?;
        let history = history_file();
        if let Some(path) = &history {
            // There is none the first time.
            let _ = editor.load_history(path);
        }
        if let Err(error) = self.connect() {
            eprintln!("tollgate: {error}");
        }
        loop {
            let line = match editor.readline(&self.prompt_text()) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(true),
                Err(error) => return Err(io::Error::other(error).into()),
            };
            let words = match split(line.as_bytes()) {
                Ok(words) => words,
                Err(reason) => {
                    eprintln!("invalid arguments: {reason}");
                    continue;
                }
            };
            if !words.is_empty() && !holds_secret(&words) {
                let _ = editor.add_history_entry(line);
                if let Some(path) = &history {
                    // A home that cannot be written must not keep anybody from working.
                    let _ = editor.save_history(path);
                }
            }
            match words.first() {
                None => continue,
                Some(word)
                    if word.eq_ignore_ascii_case(b"exit") || word.eq_ignore_ascii_case(b"quit") =>
                {
                    return Ok(true);
                }
                Some(word) if word.eq_ignore_ascii_case(b"help") || word == b"?" => {
                    println!("{HELP}")
                }
                Some(_) => {
                    if let Err(error) = self.run_command(&words) {
                        // Not sent again by itself: it may have been run, and most commands here count.
                        self.connection = None;
                        eprintln!("tollgate: {error}");
                    }
                }
            }
        }
    }

    fn prompt_text(&self) -> String {
        if self.connection.is_none() {
            return "not connected> ".to_owned();
        }
        let address = self.arguments.target.place();
        if self.database == 0 {
            format!("{address}> ")
        } else {
            format!("{address}[{}]> ", self.database)
        }
    }
}

/// The words of a line, quoted as in an inline request (and so as in redis-cli).
pub(super) fn split(line: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    // A leading star would announce an array to the scanner; a blank before it does not.
    let line = [b" ", line.trim_ascii_end(), b"\n"].concat();
    match Scanner::new().scan(&line, &RequestLimits::AUTHENTICATED) {
        Ok(Scan::Request { arguments, .. }) => Ok(arguments.iter().map(<[u8]>::to_vec).collect()),
        Ok(Scan::Skip { .. }) => Ok(Vec::new()),
        Ok(Scan::Incomplete { .. }) => Err("the line holds a line end".to_owned()),
        Err(error) => Err(error.to_string().replacen("Protocol error: ", "", 1)),
    }
}

fn show(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn history_file() -> Option<PathBuf> {
    match std::env::var_os("TOLLGATE_HISTORY") {
        Some(path) => Some(path.into()).filter(|path: &PathBuf| !path.as_os_str().is_empty()),
        None => std::env::home_dir().map(|home| home.join(".tollgate_history")),
    }
}

fn is_one_of(word: Option<&Vec<u8>>, names: &[&str]) -> bool {
    word.is_some_and(|word| {
        names
            .iter()
            .any(|name| name.as_bytes().eq_ignore_ascii_case(word))
    })
}

/// Replies that are a text of several lines, which quotes would spoil.
fn is_text(words: &[Vec<u8>]) -> bool {
    let second = |names: &[&str]| is_one_of(words.get(1), names);
    is_one_of(words.first(), &["INFO"])
        || is_one_of(words.first(), &["CLIENT"]) && second(&["LIST", "INFO"])
        || is_one_of(words.first(), &["CLUSTER"]) && second(&["NODES", "INFO"])
        || is_one_of(words.first(), &["LATENCY"]) && second(&["DOCTOR", "GRAPH"])
        || is_one_of(words.first(), &["MEMORY"]) && second(&["DOCTOR", "MALLOC-STATS"])
}

/// Lines that must not stand in the history file.
fn holds_secret(words: &[Vec<u8>]) -> bool {
    is_one_of(words.first(), &["AUTH"])
        || is_one_of(words.first(), &["HELLO"]) && words.len() > 2
        || is_one_of(words.first(), &["ACL"]) && is_one_of(words.get(1), &["SETUSER"])
        || words.iter().any(|word| {
            let secret = ["requirepass", "masterauth", "tls-key-file-pass"];
            is_one_of(Some(word), &secret)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<u8>> {
        split(line.as_bytes()).unwrap()
    }

    #[test]
    fn lines_are_split_with_quotes() {
        assert_eq!(
            words(r#"  set "a b" '' "\x00\n" "#),
            [&b"set"[..], b"a b", b"", b"\0\n"]
        );
        assert_eq!(words("*1 a"), [&b"*1"[..], b"a"]);
        assert!(words("  ").is_empty());
        assert!(split(b"set \"a").is_err());
    }

    #[test]
    fn secrets_stay_out_of_the_history() {
        for secret in [
            "auth x",
            "HELLO 3 AUTH default x",
            "config set requirepass x",
            "config set masterauth x",
            "acl setuser a >x",
        ] {
            assert!(holds_secret(&words(secret)), "{secret}");
        }
        assert!(!holds_secret(&words("HELLO 3")));
        assert!(!holds_secret(&words("RL.TAKE auth 1 1")));
    }

    #[test]
    fn texts_are_printed_as_they_are() {
        assert!(is_text(&words("info server")) && is_text(&words("CLIENT list")));
        assert!(!is_text(&words("CLIENT ID")) && !is_text(&words("PING")));
    }
}
