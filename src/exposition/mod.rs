//! What `/metrics` says: the counts of the server in the text formats of OpenMetrics and Prometheus.
//!
//! Nothing is counted for it but what `INFO` tells too. A label is one of a fixed set (a command, a kind, a code of an
//! error), or one of a bounded number of names that the operator has given (a policy, a prefix). **A key is never a label**:
//! whoever stores the metrics would keep a series for each that ever was.

mod calls;
mod commands;
mod connections;
mod disk;
mod keys;
mod writer;

use crate::command::context::Shared;
use crate::core::units::Timestamp;
use crate::engine::Engine;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use writer::Writer;

/// A text format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The older one of Prometheus, 0.0.4, for whoever does not ask for OpenMetrics.
    Prometheus,
}

impl Format {
    /// What a client gets that sends this `Accept`.
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// The value of `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// All numbers as they stand.
pub fn page(engine: &Arc<Engine>, format: Format) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Numbers(engine.clone())));
    let mut page = String::with_capacity(32 * 1024);
    // Writing to a text cannot fail.
    let _ = match format {
        Format::OpenMetrics => text::encode(&mut page, &registry),
        Format::Prometheus => prometheus_text::encode(&mut page, &registry),
    };
    page
}

/// What the crate asks for the numbers.
struct Numbers(Arc<Engine>);

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Numbers")
    }
}

impl Collector for Numbers {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let shared = &self.0.shared;
        let now = shared.clock.now();
        let writer = &mut Writer(encoder);
        type Section = fn(&mut Writer<'_>, &Shared, Timestamp) -> fmt::Result;
        let sections: [Section; 5] = [
            connections::write,
            calls::write,
            keys::write,
            disk::write,
            commands::write,
        ];
        sections
            .iter()
            .try_for_each(|section| section(writer, shared, now))
    }
}
