//! LATENCY: what held others up, and how long commands take.

use super::latency_graph;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, Arity, Flags, Group, Run, Spec};
use crate::command::table;
use crate::core::units::SECOND;
use crate::metrics::{Series, Spread};
use crate::protocol::Arguments;
use std::fmt::Write as _;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at what took long",
    reply: "Depends on the subcommand.",
    subcommands: &[
        Spec {
            summary: "Show the last moment of each event that took `latency-monitor-threshold` milliseconds or more",
            reply: "An array for each event (`command`, `fast-command`, `expire-cycle`): its name, the second of its last moment since the Unix epoch, how long that took in milliseconds, and the longest ever.",
            ..row("LATENCY|LATEST", Arity::exactly(2), latest)
        },
        Spec {
            summary: "Show the last moments of an event",
            arguments: &[Argument::string("event")],
            reply: "For each of the last 160 seconds that had one: the second since the Unix epoch, and the longest in it in milliseconds.",
            ..row("LATENCY|HISTORY", Arity::exactly(3), history)
        },
        Spec {
            summary: "Forget the moments of all events, or of some",
            arguments: &[Argument::string("event").optional().multiple()],
            reply: "How many events were forgotten.",
            ..row("LATENCY|RESET", Arity::at_least(2), reset)
        },
        Spec {
            summary: "Tell the moments of all events in words",
            reply: "A text.",
            ..row("LATENCY|DOCTOR", Arity::exactly(2), doctor)
        },
        Spec {
            summary: "Draw the last moments of an event",
            arguments: &[Argument::string("event")],
            reply: "A text: a column for each of the last 80 seconds that had one, with how long ago it was below it.",
            ..row("LATENCY|GRAPH", Arity::exactly(3), graph)
        },
        Spec {
            summary: "Show how long commands take",
            arguments: &[Argument::string("command").optional().multiple()],
            reply: "A map (in RESP2 a flat array) from each command that has run, or those named and their subcommands, to a map with `calls` and `histogram_usec`: microseconds, and how many calls took less.",
            ..row("LATENCY|HISTOGRAM", Arity::at_least(2), histogram)
        },
        help::row("LATENCY|HELP", Group::Server),
    ],
    ..Spec::new("LATENCY", Group::Server, Arity::at_least(2), latest)
};

const fn row(name: &'static str, arity: Arity, run: Run) -> Spec {
    Spec {
        flags: Flags::ADMIN.and(Flags::NOSCRIPT),
        ..Spec::new(name, Group::Server, arity, run)
    }
}

fn latest(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let events = context.shared.metrics.latency.events();
    let reply = &mut context.reply;
    reply.array(events.len());
    for (name, series) in &events {
        let last = series.samples.back();
        reply.array(4);
        reply.bulk(name.as_bytes());
        reply.integer(last.map_or(0, |sample| sample.at_s) as i64);
        reply.integer(last.map_or(0, |sample| sample.took_ms) as i64);
        reply.integer(series.longest_ms as i64);
    }
    Ok(())
}

fn history(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let event = arguments.get(2).unwrap_or_default();
    let series = context.shared.metrics.latency.series(event);
    context.reply.array(series.samples.len());
    for sample in &series.samples {
        let pair = [sample.at_s as i64, sample.took_ms as i64];
        context.reply.integers(&pair);
    }
    Ok(())
}

fn reset(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let names = arguments.tail(2);
    let forgotten = context
        .shared
        .metrics
        .latency
        .reset(|event| names.is_empty() || names.iter().any(|name| name == event.as_bytes()));
    context.reply.integer(forgotten as i64);
    Ok(())
}

fn doctor(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let threshold_ns = context.shared.settings.latency_threshold_ns();
    let events = context.shared.metrics.latency.events();
    let mut text = String::new();
    if threshold_ns == u64::MAX {
        text += "Nothing is noted: CONFIG SET latency-monitor-threshold <milliseconds> switches it on.\n";
    }
    if events.is_empty() && text.is_empty() {
        text += "Nothing has taken as long as latency-monitor-threshold.\n";
    }
    for (name, series) in &events {
        describe(&mut text, name, series);
    }
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// A line on one event: how often, how long, and what to do.
fn describe(text: &mut String, name: &str, series: &Series) {
    let samples = &series.samples;
    let seconds = samples.len().max(1) as u64;
    let sum_ms: u64 = samples.iter().map(|sample| sample.took_ms).sum();
    let (first, last) = (samples.front(), samples.back());
    let span_s = first
        .zip(last)
        .map_or(0, |(first, last)| last.at_s - first.at_s);
    let advice = match name {
        "expire-cycle" => "Many keys have gone at once.",
        _ => "SLOWLOG GET shows which commands were slow.",
    };
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "{name}: in {seconds} of {} seconds, {} ms on average, {} ms at the longest ever. {advice}",
        span_s + 1,
        sum_ms / seconds,
        series.longest_ms,
    );
}

fn graph(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let asked = arguments.get(2).unwrap_or_default();
    let events = context.shared.metrics.latency.events();
    let found = events.iter().find(|(name, _)| name.as_bytes() == asked);
    let (name, series) = found.ok_or_else(|| {
        let asked = Error::quoted(asked);
        Error::redis(format!("ERR No samples available for event '{asked}'"))
    })?;
    let text = latency_graph::text(name, series, context.now.as_ns() / SECOND);
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn histogram(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let asked = arguments.tail(2);
    let is_asked = |name: &str| {
        let command = name.split('|').next().unwrap_or(name);
        asked.is_empty()
            || asked.iter().any(|word| {
                [name, command]
                    .iter()
                    .any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
            })
    };
    // What this batch did before it counts.
    context.shared.metrics.add(&context.tally.take());
    let metrics = &context.shared.metrics;
    let found: Vec<(&str, Spread)> = table::names()
        .filter(|name| is_asked(name))
        .filter_map(|name| Some((name, metrics.command(name)?.spread?)))
        .filter(|(_, spread)| spread.total() > 0)
        .collect();
    let reply = &mut context.reply;
    reply.map(found.len());
    for (name, spread) in &found {
        reply.bulk(name.to_ascii_lowercase().as_bytes());
        reply.map(2);
        reply.bulk(b"calls");
        reply.integer(spread.total() as i64);
        reply.bulk(b"histogram_usec");
        let points = spread.by_power_of_two_us();
        reply.map(points.len());
        for (us, below) in points {
            reply.integer(us as i64);
            reply.integer(below as i64);
        }
    }
    Ok(())
}
