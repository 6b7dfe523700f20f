//! One connection of HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::patient::Patient;
use super::visitor::Visitor;
use super::{Site, routes};

/// How long the head of a request may take, and how long a connection may idle between two: a collector that comes less
/// often connects anew.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// Most bytes of it: browsers send some hundred.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Most headers.
const HEADERS_MAX: usize = 64;
/// Bytes of one connection that are held at most, of what it sends and of what it is sent.
const BUFFER_BYTES: usize = 16 * 1024;
/// How long a connection lives, so that nobody keeps a place for ever.
const LIFE: Duration = Duration::from_secs(300);
/// And how much longer for the answer that is under way then.
const GRACE: Duration = Duration::from_secs(10);

/// How long one that is turned away may take to send its request and go.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// What a peer gets for whom there is no place.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Answers until the connection ends.
pub(super) async fn serve(site: Arc<Site>, stream: TcpStream, peer: SocketAddr) {
    let local = stream.local_addr();
    let visitor = Arc::new(Mutex::new(Visitor::new(peer, local.ok())));
    let answer = service_fn(|request| {
        let (site, visitor) = (site.clone(), visitor.clone());
        async move { Ok::<_, Infallible>(routes::answer(&site, &visitor, request).await) }
    });
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_header_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES);
    let stream = TokioIo::new(Patient::new(stream));
    let mut connection = pin!(protocol.serve_connection(stream, answer));
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = sleep(LIFE) => {
            connection.as_mut().graceful_shutdown();
            timeout(GRACE, connection).await.ok()
        }
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%peer, %error, "a connection of HTTP ended");
    }
}

/// Turns a peer away for whom there is no place.
pub(super) async fn refuse(mut stream: TcpStream) {
    // A socket that is new has room for it, and who does not get it sees the connection close.
    let _ = stream.try_write(BUSY);
    let _ = stream.shutdown().await;
    // With its request unread the connection would be reset, and the answer lost on its way.
    let mut request = stream.take(HEAD_BYTES_MAX as u64);
    let _ = timeout(REFUSAL_TIME, copy(&mut request, &mut sink())).await;
}
