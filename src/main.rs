//! The `tollgate` binary: reads the command line, runs what it names, turns errors into one line and an
//! exit code.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use tollgate::arguments::{self, Command, Parsed};
use tollgate::client::{bench, cli, demo, ping, top};
use tollgate::config::LogFormat;
use tollgate::export;
use tollgate::memory::Counting;
use tollgate::server;

/// What `maxmemory` bounds is what this has counted.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let Parsed {
        arguments,
        password_is_visible,
        shown,
    } = match arguments::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        // Also the way of --help and --version, which are no errors.
        Err(error) if !error.use_stderr() => {
            say(&error.render().to_string());
            return ExitCode::SUCCESS;
        }
        Err(error) => return failure(&arguments::one_line(&error)),
    };
    if let Some(shown) = shown {
        say(&shown);
        return ExitCode::SUCCESS;
    }
    let result = match &arguments.command {
        None => {
            use_again_what_is_freed();
            outlive_a_limit_of_file_sizes();
            if password_is_visible {
                hide_password(arguments::password_text(&arguments.config.requirepass));
            }
            let ended = server::run(&arguments.config);
            match ended {
                // Who reads the log as objects gets this line as one too.
                Err(reason)
                    if arguments.config.log_format == LogFormat::Json
                        && tracing::enabled!(tracing::Level::ERROR) =>
                {
                    tracing::error!(reason, "it ends");
                    return ExitCode::FAILURE;
                }
                ended => ended.map(|()| true),
            }
        }
        Some(Command::Ping(arguments)) => ping::run(arguments).map(|()| {
            say("PONG\n");
            true
        }),
        Some(Command::Cli(arguments)) => cli::run(arguments),
        Some(Command::Top(arguments)) => top::run(arguments),
        Some(Command::Demo(arguments)) => demo::run(arguments),
        Some(Command::Bench(arguments)) => bench::run(arguments),
        Some(Command::Export(arguments)) => export::run(arguments).map(|()| true),
        Some(Command::Version) => {
            say(concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n"));
            Ok(true)
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(line) => failure(&line),
    }
}

/// Lets what is freed be used again, or go back to the system.
///
/// glibc maps large blocks apart, but raises what counts as large each time one is freed, so that after a while
/// all tables are taken from the heap and stay there: of three million keys that had come and gone, 390 MB did,
/// and 8 MB do with its first threshold kept.
///
/// It also gives each thread a heap of its own, and what one thread frees of another's is not used by itself: with names
/// of keys that come and go, a tenth more was resident than in use. With one heap it is a fiftieth.
fn use_again_what_is_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets numbers in the allocator, before there is another thread.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 * 1024);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A file that may not grow any more is an error of its write, and not the end of the process.
fn outlive_a_limit_of_file_sizes() {
    // SAFETY: it installs no handler, and there is no other thread yet.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Prints to standard output; whoever stopped reading it does not want the rest.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn failure(line: &str) -> ExitCode {
    // Whoever would read it may be gone.
    let _ = writeln!(std::io::stderr(), "tollgate: {line}");
    ExitCode::FAILURE
}

/// Starts over with the password in the environment, which other users cannot read, instead of on the
/// command line, which `ps` shows them. The process stays the same. Returns only if that fails.
fn hide_password(password: &str) {
    let mut line = arguments::without_password(std::env::args_os()).into_iter();
    let name = line.next().unwrap_or_else(|| OsString::from("tollgate"));
    let started = std::env::current_exe().map(|program| {
        let mut again = std::process::Command::new(program);
        again
            .arg0(name)
            .args(line)
            .env("TOLLGATE_REQUIREPASS", password)
            .exec()
    });
    let (Ok(error) | Err(error)) = started;
    eprintln!(
        "tollgate: warning: ps shows the password of --requirepass ({error}); use TOLLGATE_REQUIREPASS"
    );
}
