//! What the generator saw, for people.

use std::fmt::Write as _;

use hdrhistogram::Histogram;

use super::arguments::BenchArguments;
use super::record::{Count, Window};
use super::worker::{Plan, WINDOW_NS};

/// The percentiles that are told.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];
/// From this share of its time on a thread of the generator may be what is measured.
const BUSY: f64 = 0.95;
/// Columns of the longest bar.
const BAR: f64 = 50.0;

/// Everything that is known at the end, or so far.
pub struct Report<'a> {
    /// What was asked for.
    pub arguments: &'a BenchArguments,
    /// The commands.
    pub plan: &'a Plan,
    /// Threads of the generator.
    pub threads: u64,
    /// What they have told.
    pub seen: Window,
    /// Calls without an answer.
    pub unanswered: u64,
    /// Calls that were due and never sent.
    pub unsent: u64,
    /// From when calls count, in nanoseconds of the generator's clock.
    pub counts_from_ns: u64,
}

impl Report<'_> {
    /// The time from the first call that counts to the last reply, in seconds.
    pub fn seconds(&self) -> f64 {
        let span = self.seen.last_reply_ns.saturating_sub(self.counts_from_ns);
        span as f64 / 1e9
    }

    /// Calls a second.
    pub fn rate(&self, calls: u64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 {
            calls as f64 / seconds
        } else {
            0.0
        }
    }

    /// The generator's processor time a call, in microseconds.
    pub fn cpu_us_per_call(&self, calls: u64) -> f64 {
        self.seen.cpu_ns as f64 / 1e3 / calls.max(1) as f64
    }

    /// The part of their time that the generator's threads were busy, 1 at most but for rounding.
    pub fn busy(&self) -> f64 {
        let time = self.seconds() * self.threads as f64;
        if time > 0.0 {
            self.seen.cpu_ns as f64 / 1e9 / time
        } else {
            0.0
        }
    }

    /// False if this is no measurement: calls have no answer, or all answers were errors.
    pub fn is_fine(&self) -> bool {
        let total = self.seen.total();
        self.unanswered == 0 && self.unsent == 0 && total.errors < total.latency_ns.len()
    }

    /// What is to be thought of the figures, a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.unsent > 0 {
            remarks.push(format!(
                "{} calls were due and never sent: the server does not keep up with this rate, and latencies would go on growing",
                grouped(self.unsent)
            ));
        }
        if self.unanswered > 0 {
            remarks.push(format!("{} calls have no answer", grouped(self.unanswered)));
        }
        if self.busy() >= BUSY {
            remarks.push(
                "the generator was busy all the time, so these figures may be its own: give it more --threads, and a processor for each"
                    .to_owned(),
            );
        }
        remarks
    }

    /// How latencies are to be read.
    pub fn loop_text(&self) -> &'static str {
        match self.arguments.rate {
            Some(_) => {
                "open loop: a call's latency counts from when it was due, so a stall counts for every call that came due in it"
            }
            None => {
                "closed loop: a connection sends when it has its answers, so while the server stalls nothing is sent and a stall counts once; use --rate to see what callers would"
            }
        }
    }

    /// A line of progress, about what has been told since the last one.
    pub fn progress(&self, recent: &Window) -> String {
        let total = recent.total();
        let calls = total.latency_ns.len();
        if calls == 0 && self.seen.last_reply_ns == 0 {
            return "no calls counted yet".to_owned();
        }
        let so_far = self.seen.total().latency_ns.len() + calls;
        let [p50, p99, p999] =
            [50.0, 99.0, 99.9].map(|at| ms(total.latency_ns.value_at_percentile(at)));
        format!(
            "{} calls, {}/s, p50 {p50} ms, p99 {p99} ms, p99.9 {p999} ms, {} denied, {} errors",
            grouped(so_far),
            grouped((calls as f64 * 1e9 / WINDOW_NS as f64) as u64),
            grouped(total.denied),
            grouped(total.errors)
        )
    }

    /// The result.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a text does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (arguments, total) = (self.arguments, self.seen.total());
        let calls = total.latency_ns.len();
        for template in &self.plan.templates {
            writeln!(out, "{}", template.text)?;
        }
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        writeln!(
            out,
            "{} connection{}, pipeline {}, {} keys ({}), {} thread{}",
            arguments.connections,
            plural(arguments.connections),
            arguments.pipeline,
            grouped(arguments.keys),
            arguments.draw,
            self.threads,
            plural(self.threads),
        )?;
        writeln!(out, "{}\n", self.loop_text())?;
        let asked = arguments
            .rate
            .map(|rate| format!(" of {} asked for", grouped(rate)));
        writeln!(
            out,
            "calls      {} in {:.3} s: {} a second{}",
            grouped(calls),
            self.seconds(),
            grouped(self.rate(calls) as u64),
            asked.unwrap_or_default()
        )?;
        writeln!(
            out,
            "replies    {} fine, {} denied, {} errors",
            grouped(calls - total.denied - total.errors),
            grouped(total.denied),
            grouped(total.errors)
        )?;
        for (code, (count, text)) in &self.seen.errors.0 {
            writeln!(
                out,
                "           {code} {}, such as: {text}",
                grouped(*count)
            )?;
        }
        writeln!(
            out,
            "generator  {:.2} us of processor a call, busy for {:.0} % of its time",
            self.cpu_us_per_call(calls),
            self.busy() * 100.0
        )?;
        for remark in self.remarks() {
            writeln!(out, "warning    {remark}")?;
        }
        if calls == 0 {
            return Ok(());
        }
        writeln!(out, "\nlatency, ms")?;
        write!(out, "{:>10} {:>10}", "mean", "min")?;
        for percentile in PERCENTILES {
            write!(out, " {:>10}", percentile_name(percentile))?;
        }
        writeln!(out)?;
        self.row(out, &total, "")?;
        if self.seen.counts.len() > 1 {
            for (count, template) in self.seen.counts.iter().zip(&self.plan.templates) {
                let replies = format!(
                    "{} calls, {} denied, {} errors: {}",
                    grouped(count.latency_ns.len()),
                    grouped(count.denied),
                    grouped(count.errors),
                    template.text
                );
                self.row(out, count, &replies)?;
            }
        }
        writeln!(out, "\n{:>10} {:>7}  calls", "up to ms", "share")?;
        bars(out, &total.latency_ns)
    }

    fn row(&self, out: &mut String, count: &Count, behind: &str) -> std::fmt::Result {
        let latency = &count.latency_ns;
        write!(
            out,
            "{:>10} {:>10}",
            ms(latency.mean() as u64),
            ms(latency.min())
        )?;
        for percentile in PERCENTILES {
            write!(out, " {:>10}", ms(latency.value_at_percentile(percentile)))?;
        }
        match behind {
            "" => writeln!(out),
            _ => writeln!(out, "  {behind}"),
        }
    }
}

/// `p50`, and `max` for the last.
pub fn percentile_name(percentile: f64) -> String {
    match percentile {
        100.0 => "max".to_owned(),
        _ => format!("p{percentile}"),
    }
}

/// Nanoseconds as milliseconds.
fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The steps of the histogram that is shown: 1, 2 and 5 of each power of ten, in nanoseconds. Each with the calls that
/// took no longer and longer than the step before; the empty ones at both ends are left out.
pub fn steps(latency: &Histogram<u64>) -> Vec<(u64, u64)> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let (mut step, mut factors) = (1_000, [2, 5, 2].iter().cycle());
    let mut calls = 0;
    for value in latency.iter_recorded() {
        while value.value_iterated_to() > step {
            if calls > 0 || !steps.is_empty() {
                steps.push((step, calls));
            }
            calls = 0;
            // 1, 2, 5, 10.
            step = match factors.next() {
                Some(5) => step / 2 * 5,
                _ => step * 2,
            };
        }
        calls += value.count_since_last_iteration();
    }
    if calls > 0 {
        steps.push((step, calls));
    }
    steps
}

fn bars(out: &mut String, latency: &Histogram<u64>) -> std::fmt::Result {
    let steps = steps(latency);
    let most = steps.iter().map(|(_, calls)| *calls).max().unwrap_or(0);
    for (step, calls) in steps {
        let bar = (calls as f64 / most.max(1) as f64 * BAR).ceil() as usize;
        writeln!(
            out,
            "{:>10} {:>6.2}%  {:<12} {}",
            ms(step),
            calls as f64 * 100.0 / latency.len() as f64,
            grouped(calls),
            "#".repeat(bar)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::bench::record::histogram;

    #[test]
    fn digits_stand_in_threes() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn the_steps_hold_every_call_once() {
        let mut latency = histogram();
        for exponent in 2..10 {
            for factor in 1..10 {
                latency.record(factor * 10u64.pow(exponent)).unwrap();
            }
        }
        let steps = steps(&latency);
        assert_eq!(steps[0].0, 1_000);
        assert_eq!(
            steps[1..4].iter().map(|step| step.0).collect::<Vec<_>>(),
            [2_000, 5_000, 10_000]
        );
        let all: u64 = steps.iter().map(|(_, calls)| calls).sum();
        assert_eq!(all, latency.len());
    }
}
