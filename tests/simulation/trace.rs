//! What happened, in words. Off unless a history is played again because it failed: words cost more than what they
//! tell of.

use parking_lot::Mutex;
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Mutex<Vec<String>>>>);

impl Trace {
    pub fn on() -> Self {
        Self(Some(Arc::default()))
    }

    pub fn line(&self, text: impl FnOnce() -> String) {
        if let Some(lines) = &self.0 {
            lines.lock().push(text());
        }
    }

    pub fn text(&self) -> String {
        let lines = self.0.as_ref().map(|lines| lines.lock().join("\n"));
        lines.unwrap_or_default()
    }
}
