//! What is answered at which path.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Mutex;

use super::visitor::{Refused, Visitor};
use super::{Site, Started, host};
use crate::exposition::{self, Format};

type Answer = Response<Full<Bytes>>;

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers one request.
pub(super) async fn answer(
    site: &Site,
    visitor: &Mutex<Visitor>,
    request: &Request<Incoming>,
) -> Answer {
    let path = request.uri().path();
    if !["/healthz", "/readyz", "/metrics"].contains(&path) {
        let text = "there is /metrics, /healthz and /readyz\n";
        return plain(StatusCode::NOT_FOUND, text);
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        let allowed = HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(ALLOW, allowed);
        return answer;
    }
    match (path, site.started.get()) {
        ("/healthz", _) => plain(StatusCode::OK, "ok\n"),
        (_, None) => plain(StatusCode::SERVICE_UNAVAILABLE, "loading\n"),
        (_, Some(started)) if !started.gate.is_open() => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
        }
        ("/readyz", _) => plain(StatusCode::OK, "ready\n"),
        (_, Some(started)) => match admit(site, started, visitor, request).await {
            Ok(()) => metrics(started, request),
            Err(refusal) => refusal,
        },
    }
}

fn metrics(started: &Started, request: &Request<Incoming>) -> Answer {
    let accept = header(request, ACCEPT.as_str());
    let format = Format::accepted(accept.unwrap_or_default());
    let page = exposition::page(&started.engine, format);
    respond(StatusCode::OK, format.content_type(), page)
}

/// Lets those in who may see how the server stands.
async fn admit(
    site: &Site,
    started: &Started,
    visitor: &Mutex<Visitor>,
    request: &Request<Incoming>,
) -> Result<(), Answer> {
    let shared = &started.engine.shared;
    let asks_password = shared.acl.requires_login();
    let mut visitor = visitor.lock().await;
    let is_local = visitor.peer.ip().to_canonical().is_loopback();
    if shared.settings.protected_mode() && !asks_password && !is_local {
        let text = "protected mode: without a password only this machine is answered; set one \
            (TOLLGATE_REQUIREPASS or --requirepass-file), or, if nobody else can reach it, --protected-mode no\n";
        return Err(plain(StatusCode::FORBIDDEN, text));
    }
    let authorization = request.headers().get(AUTHORIZATION);
    // A page under another name does not know the password.
    if !(is_ours(site, request) || asks_password && authorization.is_some()) {
        let text =
            "this name is not known here: ask by address, as localhost, or with a password\n";
        return Err(plain(StatusCode::FORBIDDEN, text));
    }
    let authorization = authorization.map(HeaderValue::as_bytes);
    match visitor.enter(started, authorization, &[b"INFO"]).await {
        Ok(()) => Ok(()),
        Err(Refused::Unknown) => {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "a user and a password, please\n");
            let scheme = HeaderValue::from_static("Basic realm=\"Tollgate\", charset=\"UTF-8\"");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            Err(answer)
        }
        Err(Refused::NotAllowed) => {
            let text = "this user may not run INFO\n";
            Err(plain(StatusCode::FORBIDDEN, text))
        }
        Err(Refused::Stopping) => Err(plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n")),
    }
}

/// True if the request names a host that is this server, or none at all, as no browser does.
fn is_ours(site: &Site, request: &Request<Incoming>) -> bool {
    let mut named = request.headers().get_all(HOST).iter();
    let in_header = named.next().map(HeaderValue::to_str);
    let own = site.name.as_deref();
    let in_target = request.uri().authority();
    let target_is_ours = in_target.is_none_or(|target| host::is_ours(target.as_str(), own));
    let header_is_ours = match in_header {
        None => true,
        Some(name) => name.is_ok_and(|name| host::is_ours(name, own)),
    };
    target_is_ours && header_is_ours && named.next().is_none()
}

fn header<'r>(request: &'r Request<Incoming>, name: &str) -> Option<&'r str> {
    request.headers().get(name)?.to_str().ok()
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    respond(status, TEXT, text)
}

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
