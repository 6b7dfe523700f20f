//! What is answered at which path.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::admission::admit;
use super::body::Body;
use super::visitor::{Refused, Visitor};
use super::{Site, Started, action, events};
use crate::exposition::{self, Format};
use crate::page;

pub(super) type Answer = Response<Body>;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// What there is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Page,
    Events,
    Usage,
    Action,
    Metrics,
    Health,
    Readiness,
}

impl Place {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::Page,
            "/events" => Self::Events,
            "/usage" => Self::Usage,
            "/action" => Self::Action,
            "/metrics" => Self::Metrics,
            "/healthz" => Self::Health,
            "/readyz" => Self::Readiness,
            _ => return None,
        })
    }

    /// The methods it takes.
    const fn allowed(self) -> &'static str {
        match self {
            Self::Action => "POST",
            _ => "GET, HEAD",
        }
    }
}

/// Answers one request.
pub(super) async fn answer(
    site: &Arc<Site>,
    visitor: &Arc<Mutex<Visitor>>,
    request: Request<Incoming>,
) -> Answer {
    let Some(place) = Place::of(request.uri().path()) else {
        let text = "there is /, /metrics, /healthz and /readyz\n";
        return plain(StatusCode::NOT_FOUND, text);
    };
    let allowed = place.allowed();
    if !allowed.split(", ").any(|method| request.method() == method) {
        let text = format!("only {allowed}\n");
        let answer = plain(StatusCode::METHOD_NOT_ALLOWED, text);
        return with(answer, ALLOW, allowed);
    }
    let started = match (place, site.started.get()) {
        (Place::Health, _) => return plain(StatusCode::OK, "ok\n"),
        (_, None) => return unavailable("loading\n"),
        (_, Some(started)) if !started.gate.is_open() => return unavailable("stopping\n"),
        (Place::Readiness, _) => return plain(StatusCode::OK, "ready\n"),
        (_, Some(started)) => started,
    };
    if let Err(refusal) = admit(site, started, visitor, &request).await {
        return refusal;
    }
    match place {
        Place::Page => html(),
        Place::Events => told(site, visitor, request.method()),
        Place::Usage => usage(started, visitor, request.uri().query().unwrap_or_default()).await,
        Place::Action => act(started, visitor, request).await,
        Place::Metrics | Place::Health | Place::Readiness => metrics(started, &request),
    }
}

fn metrics(started: &Started, request: &Request<Incoming>) -> Answer {
    let accept = request.headers().get(ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let page = exposition::page(&started.engine, format);
    respond(StatusCode::OK, format.content_type(), page)
}

fn html() -> Answer {
    let answer = respond(StatusCode::OK, "text/html; charset=utf-8", page::HTML);
    let answer = with(answer, REFERRER_POLICY, "no-referrer");
    with(
        answer,
        CONTENT_SECURITY_POLICY,
        page::CONTENT_SECURITY_POLICY.as_str(),
    )
}

fn told(site: &Arc<Site>, visitor: &Arc<Mutex<Visitor>>, method: &Method) -> Answer {
    let Ok(place) = site.pages.clone().try_acquire_owned() else {
        return unavailable("as many pages are open as are told\n");
    };
    let mut answer = respond(StatusCode::OK, "text/event-stream", "");
    if method == Method::GET {
        *answer.body_mut() = Body::Events(events::tell(site.clone(), visitor.clone(), place));
    }
    answer
}

/// How a key stands: `?db=0&key=rl%3Ameta`.
async fn usage(started: &Started, visitor: &Mutex<Visitor>, query: &str) -> Answer {
    let find = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(other, _)| *other == name).map(|pair| pair.1)
    };
    let database = match find("db") {
        None => Some(0),
        Some(number) => number.parse().ok().filter(|&database: &u8| database < 16),
    };
    let key = find("key").and_then(page::name_of_id);
    let (Some(database), Some(key)) = (database, key) else {
        let error = json!({ "error": "it takes db (0 to 15) and key" });
        return value(StatusCode::BAD_REQUEST, &error);
    };
    let shown = visitor
        .lock()
        .await
        .look(started, |viewer| page::view(viewer, database, &key));
    match shown.flatten() {
        Some(shown) => value(StatusCode::OK, &shown),
        None => {
            let error = json!({ "error": "this user may not see that key" });
            value(StatusCode::FORBIDDEN, &error)
        }
    }
}

async fn act(started: &Started, visitor: &Mutex<Visitor>, request: Request<Incoming>) -> Answer {
    let refuse = |status, error: &str| value(status, &json!({ "error": error }));
    if !started.may_act {
        let error = "the server was started without --ui-actions";
        return refuse(StatusCode::FORBIDDEN, error);
    }
    if !action::is_of_own_page(request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "this is not the server's own page");
    }
    let action = match action::read(request).await {
        Ok(action) => action,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, error),
    };
    let words: Vec<&[u8]> = action.words.iter().map(Vec::as_slice).collect();
    let mut visitor = visitor.lock().await;
    match visitor.run(started, action.database, &words).await {
        Ok(reply) => {
            let text = String::from_utf8_lossy(&reply);
            let text = text.trim_end();
            match text.strip_prefix('-') {
                Some(error) => refuse(StatusCode::CONFLICT, error),
                None => value(StatusCode::OK, &json!({ "reply": text.get(1..) })),
            }
        }
        Err(Refused::Unknown | Refused::NotAllowed | Refused::Stopping) => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, "stopping")
        }
    }
}

fn value(status: StatusCode, value: &Value) -> Answer {
    respond(status, JSON, value.to_string())
}

/// A line of text.
pub(super) fn plain(status: StatusCode, text: impl Into<Body>) -> Answer {
    respond(status, TEXT, text)
}

/// It cannot be had now.
pub(super) fn unavailable(text: &'static str) -> Answer {
    plain(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// An answer with one more header.
pub(super) fn with(mut answer: Answer, name: HeaderName, value: &'static str) -> Answer {
    let value = HeaderValue::from_static(value);
    answer.headers_mut().insert(name, value);
    answer
}

fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    let answer = with(answer, CONTENT_TYPE, content_type);
    let answer = with(answer, CACHE_CONTROL, "no-store");
    with(answer, X_CONTENT_TYPE_OPTIONS, "nosniff")
}
