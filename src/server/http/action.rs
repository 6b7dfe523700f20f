//! What the page can have done to a key: pause, resume, reset.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, ORIGIN};
use hyper::{HeaderMap, Request};
use serde_json::Value;
use tokio::time::timeout;

use crate::page;

/// Longest body of a request: a key of 512 bytes, each behind a percent sign, and some words.
const BYTES_MAX: usize = 4 * 1024;
/// How long it may take to arrive.
const TIME: Duration = Duration::from_secs(5);

/// The header that only a script of our own page can send: another one's would have to ask first, and is not answered.
const OWN: &str = "x-tollgate-action";

/// A command of the page on a key of a database.
pub(super) struct Action {
    pub(super) database: u8,
    pub(super) words: Vec<Vec<u8>>,
}

/// True for a request of our own page. A browser says where a script comes from; whoever is no browser may say what it
/// likes, and needs no page.
pub(super) fn is_of_own_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let same_site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let host = text(HOST.as_str()).unwrap_or_default();
    let same_origin = text(ORIGIN.as_str()).is_none_or(|origin| {
        let name = origin.split_once("://").map(|(_, name)| name);
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    });
    text(OWN) == Some("1") && same_site && same_origin
}

/// Reads what is to be done.
///
/// # Errors
/// A line that says what is wrong with it.
pub(super) async fn read(request: Request<Incoming>) -> Result<Action, &'static str> {
    let body = Limited::new(request.into_body(), BYTES_MAX).collect();
    let body = timeout(TIME, body)
        .await
        .map_err(|_| "the request took longer than 5 s to arrive")?;
    let body = body.map_err(|_| "the request has more than 4 KiB, or was broken off")?;
    let json: Value =
        serde_json::from_slice(&body.to_bytes()).map_err(|_| "the request is no JSON")?;
    parse(&json).ok_or("it takes do (pause, resume or reset), db (0 to 15), key and, to pause, for")
}

fn parse(json: &Value) -> Option<Action> {
    let text = |name: &str| json.get(name)?.as_str();
    let database = json.get("db")?.as_u64().filter(|&database| database < 16)?;
    let key = page::name_of_id(text("key")?)?;
    let words = match text("do")? {
        "pause" => vec![b"RL.PAUSE".to_vec(), key, text("for")?.into()],
        "resume" => vec![b"RL.RESUME".to_vec(), key],
        "reset" => vec![b"DEL".to_vec(), key],
        _ => return None,
    };
    Some(Action {
        database: database as u8,
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use serde_json::json;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_our_own_page_may_act() {
        let own = (OWN, "1");
        for (pairs, ours) in [
            (&[own][..], true),
            (&[], false),
            (&[(OWN, "0")], false),
            (&[own, ("sec-fetch-site", "same-origin")], true),
            (&[own, ("sec-fetch-site", "cross-site")], false),
            (&[own, ("sec-fetch-site", "same-site")], false),
            (&[own, ("sec-fetch-site", "none")], false),
            (
                &[
                    own,
                    ("host", "localhost:1"),
                    ("origin", "http://localhost:1"),
                ],
                true,
            ),
            (
                &[
                    own,
                    ("host", "localhost:1"),
                    ("origin", "http://localhost:2"),
                ],
                false,
            ),
            (&[own, ("host", "localhost:1"), ("origin", "null")], false),
        ] {
            assert_eq!(is_of_own_page(&headers(pairs)), ours, "{pairs:?}");
        }
    }

    #[test]
    fn an_action_is_a_command_on_a_key() {
        let words = |json| {
            let action = parse(&json)?;
            let words = action.words.join(&b' ');
            Some((action.database, String::from_utf8(words).unwrap()))
        };
        let pause = json!({"do": "pause", "db": 3, "key": "a%20b", "for": "30s"});
        assert_eq!(words(pause), Some((3, "RL.PAUSE a b 30s".to_owned())));
        let reset = json!({"do": "reset", "db": 0, "key": "k"});
        assert_eq!(words(reset), Some((0, "DEL k".to_owned())));
        for wrong in [
            json!({"do": "reset", "db": 16, "key": "k"}),
            json!({"do": "reset", "db": 0}),
            json!({"do": "flush", "db": 0, "key": "k"}),
            json!({"do": "pause", "db": 0, "key": "k"}),
            json!({"do": "resume", "db": 0, "key": "%"}),
            json!(["do"]),
        ] {
            assert!(parse(&wrong).is_none(), "{wrong}");
        }
    }
}
