//! The least that a rate limiter over RESP can do, to compare the server with: a tokio task a connection, one hash
//! map, one bucket a key. `bare PORT` listens on 127.0.0.1.
//!
//! It trusts its peers. A request is an array of bulk strings, whatever its command, and its second word is the key of
//! a bucket of 80 permits that refills at 80 a second. The reply is the milliseconds to wait. No key is ever forgotten,
//! nothing is checked or bounded, and there is nothing else that it can do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use ahash::RandomState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Nanoseconds in which one permit refills.
const EMISSION_NS: u64 = 1_000_000_000 / 80;
/// What a full bucket lets go at once, in nanoseconds of refill.
const BURST_NS: u64 = 80 * EMISSION_NS;

/// When each bucket will be full again, in nanoseconds since the start.
type Buckets = Rc<RefCell<HashMap<Vec<u8>, u64, RandomState>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let listener = TcpListener::bind(("127.0.0.1", port.expect("bare PORT"))).await?;
    let buckets = Buckets::default();
    #[allow(clippy::disallowed_methods, reason = "it is a program of its own")]
    let start = Instant::now();
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async {
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                // A connection that breaks is no matter of the others'.
                let buckets = buckets.clone();
                tokio::task::spawn_local(async move { drop(serve(stream, buckets, start).await) });
            }
        })
        .await
}

async fn serve(mut stream: TcpStream, buckets: Buckets, start: Instant) -> std::io::Result<()> {
    let (mut input, mut output) = (Vec::with_capacity(1 << 14), Vec::new());
    while stream.read_buf(&mut input).await? > 0 {
        let mut at = 0;
        {
            let mut buckets = buckets.borrow_mut();
            let now = start.elapsed().as_nanos() as u64;
            while let Some((key, length)) = request(&input[at..]) {
                let wait_ms = reserve(&mut buckets, key, now);
                output.extend_from_slice(b":");
                output.extend_from_slice(itoa::Buffer::new().format(wait_ms).as_bytes());
                output.extend_from_slice(b"\r\n");
                at += length;
            }
        }
        input.drain(..at);
        stream.write_all(&output).await?;
        output.clear();
    }
    Ok(())
}

/// Books a permit; the milliseconds to wait for it, rounded up.
fn reserve(buckets: &mut HashMap<Vec<u8>, u64, RandomState>, key: &[u8], now: u64) -> u64 {
    let full_at = match buckets.get_mut(key) {
        Some(full_at) => full_at,
        None => buckets.entry(key.to_vec()).or_default(),
    };
    *full_at = (*full_at).max(now) + EMISSION_NS;
    full_at.saturating_sub(now + BURST_NS).div_ceil(1_000_000)
}

/// The second word of the request at the beginning of `input`, and the request's length.
fn request(input: &[u8]) -> Option<(&[u8], usize)> {
    let (words, mut at) = number(input, 1)?;
    let mut key = &input[..0];
    for word in 0..words {
        let (length, start) = number(input, at + 1)?;
        if word == 1 {
            key = input.get(start..start + length)?;
        }
        at = start + length + 2;
    }
    (at <= input.len()).then_some((key, at))
}

/// The number that begins at `at`, and what is behind its line.
fn number(input: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut number = 0;
    loop {
        match input.get(at)? {
            b'\r' => return Some((number, at + 2)),
            digit => number = number * 10 + usize::from(digit - b'0'),
        }
        at += 1;
    }
}
