//! Who may see how the server stands.

use hyper::header::{AUTHORIZATION, HOST, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};
use tokio::sync::Mutex;

use super::routes::{Answer, plain, unavailable, with};
use super::visitor::{NUMBERS, Refused, Visitor};
use super::{Site, Started, host};

const PROTECTED: &str = "protected mode: without a password only this machine is answered; set one \
    (TOLLGATE_REQUIREPASS or --requirepass-file), or, if nobody else can reach it, --protected-mode no\n";
const UNKNOWN_NAME: &str =
    "this name is not known here: ask by address, as localhost, or with a password\n";

/// Lets a request in, or says why not.
pub(super) async fn admit<B>(
    site: &Site,
    started: &Started,
    visitor: &Mutex<Visitor>,
    request: &Request<B>,
) -> Result<(), Answer> {
    let shared = &started.engine.shared;
    let asks_password = shared.acl.requires_login();
    let mut visitor = visitor.lock().await;
    let is_local = visitor.peer.ip().to_canonical().is_loopback();
    if shared.settings.protected_mode() && !asks_password && !is_local {
        return Err(plain(StatusCode::FORBIDDEN, PROTECTED));
    }
    let authorization = request.headers().get(AUTHORIZATION);
    // A page under another name does not know the password.
    if !(is_ours(site, request) || asks_password && authorization.is_some()) {
        return Err(plain(StatusCode::FORBIDDEN, UNKNOWN_NAME));
    }
    let authorization = authorization.map(HeaderValue::as_bytes);
    let entered = visitor.enter(started, authorization, NUMBERS).await;
    entered.map_err(|refused| match refused {
        Refused::Unknown => {
            let answer = plain(StatusCode::UNAUTHORIZED, "a user and a password, please\n");
            let scheme = "Basic realm=\"Tollgate\", charset=\"UTF-8\"";
            with(answer, WWW_AUTHENTICATE, scheme)
        }
        Refused::NotAllowed => plain(StatusCode::FORBIDDEN, "this user may not run INFO\n"),
        Refused::Stopping => unavailable("stopping\n"),
    })
}

/// True if the request names a host that is this server, or none at all, as no browser does.
fn is_ours<B>(site: &Site, request: &Request<B>) -> bool {
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
