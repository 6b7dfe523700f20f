//! The page that shows what goes on, and what it is told: all of it as values and texts, without sockets.

mod hot;
mod keys;
mod name;
mod past;
mod state;

use crate::base64;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

pub use keys::{Viewer, view};
pub use name::bytes as name_of_id;
pub use past::{Past, Second};
pub use state::{past, state};

/// The page: one file, without anything from elsewhere.
pub const HTML: &str = include_str!("page.html");

/// The value of `Content-Security-Policy` for it: its own style and script and no others, and nothing from anywhere else.
pub static CONTENT_SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |tag: &str| {
        let text = element(HTML, tag).unwrap_or_default();
        base64::encode(&Sha256::digest(text.as_bytes()))
    };
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash("style"),
        hash("script")
    )
});

/// What stands in the only element of that name.
fn element<'t>(html: &'t str, tag: &str) -> Option<&'t str> {
    let (_, behind) = html.split_once(&format!("<{tag}>"))?;
    Some(behind.split_once(&format!("</{tag}>"))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_else() {
        for tag in ["style", "script"] {
            assert_eq!(HTML.matches(&format!("<{tag}")).count(), 1, "{tag}");
            assert!(element(HTML, tag).is_some_and(|text| !text.is_empty()));
        }
        for elsewhere in [
            "src=",
            "href=\"http",
            "@import",
            "url(",
            "innerHTML",
            "style=\"",
            " onclick",
        ] {
            assert!(!HTML.contains(elsewhere), "{elsewhere}");
        }
        assert!(HTML.len() < 64 * 1024);
    }

    #[test]
    fn the_policy_names_what_is_on_the_page() {
        let policy = &*CONTENT_SECURITY_POLICY;
        assert_eq!(policy.matches("'sha256-").count(), 2);
        assert!(policy.starts_with("default-src 'none'"));
        assert!(!policy.contains("unsafe"));
    }
}
