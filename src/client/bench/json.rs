//! What the generator saw, for programs: one JSON object on a line. Latencies are microseconds.

use super::record::Count;
use super::report::{PERCENTILES, Report, percentile_name, steps};
use crate::client::json::{array, object, string};

/// The object.
pub fn text(report: &Report<'_>) -> String {
    let (arguments, total) = (report.arguments, report.seen.total());
    let calls = total.latency_ns.len();
    let commands = report.plan.templates.iter().zip(&report.seen.counts);
    let commands = commands.map(|(template, count)| {
        object([
            ("command", string(&template.text)),
            ("weight", template.weight.to_string()),
            ("replies", replies(count)),
            ("latency_us", latency(count)),
        ])
    });
    let errors = report.seen.errors.0.iter();
    let errors = errors.map(|(code, (count, text))| {
        object([
            ("code", string(code)),
            ("count", count.to_string()),
            ("example", string(text)),
        ])
    });
    let steps = steps(&total.latency_ns).into_iter();
    let steps = steps.map(|(step, calls)| format!("[{},{calls}]", us(step as f64)));
    let remarks = report.remarks().into_iter();
    let result = object([
        ("commands", array(commands)),
        ("connections", arguments.connections.to_string()),
        ("pipeline", arguments.pipeline.to_string()),
        ("keys", arguments.keys.to_string()),
        ("draw", string(&arguments.draw.to_string())),
        ("threads", report.threads.to_string()),
        (
            "loop",
            string(if arguments.rate.is_some() {
                "open"
            } else {
                "closed"
            }),
        ),
        (
            "rate",
            arguments
                .rate
                .map_or_else(|| "null".to_owned(), |rate| rate.to_string()),
        ),
        ("seconds", format!("{:.6}", report.seconds())),
        ("calls_per_second", format!("{:.1}", report.rate(calls))),
        ("replies", replies(&total)),
        ("errors", array(errors)),
        ("unanswered", report.unanswered.to_string()),
        ("unsent", report.unsent.to_string()),
        ("latency_us", latency(&total)),
        ("histogram_us", array(steps)),
        (
            "generator",
            object([
                (
                    "cpu_us_per_call",
                    format!("{:.3}", report.cpu_us_per_call(calls)),
                ),
                ("busy", format!("{:.3}", report.busy())),
            ]),
        ),
        ("warnings", array(remarks.map(|remark| string(&remark)))),
    ]);
    result + "\n"
}

fn replies(count: &Count) -> String {
    let calls = count.latency_ns.len();
    object([
        ("all", calls.to_string()),
        ("fine", (calls - count.denied - count.errors).to_string()),
        ("denied", count.denied.to_string()),
        ("errors", count.errors.to_string()),
    ])
}

fn latency(count: &Count) -> String {
    let latency = &count.latency_ns;
    let mean = ("mean".to_owned(), us(latency.mean()));
    let min = ("min".to_owned(), us(latency.min() as f64));
    let percentiles = PERCENTILES.map(|percentile| {
        let value = latency.value_at_percentile(percentile);
        (percentile_name(percentile), us(value as f64))
    });
    object([mean, min].into_iter().chain(percentiles))
}

fn us(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}
