//! What a call costs on a key with many bookings ahead: `cargo bench --bench booking_cost`.
#![allow(clippy::unwrap_used, reason = "nobody is served who could be let down")]

#[path = "../tests/support/server.rs"]
#[allow(dead_code, reason = "tests ask the server for more")]
mod server;

use server::{Reply, Server};

/// Nanoseconds that this thread has run, as Linux counts them: what else the machine does is left out.
fn ran_ns() -> u64 {
    // The count is brought up to date when a thread lets others go first, and else some hundred times a second.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Microseconds since then for each of so many.
fn each_since(begin_ns: u64, count: usize) -> f64 {
    (ran_ns() - begin_ns) as f64 / 1e3 / count as f64
}

/// Calls one after the other; the replies' first numbers. Prints what one call took of each fifth of them, in
/// microseconds.
fn measure(server: &mut Server, what: &str, requests: &[String]) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(requests.len());
    let mut took = String::new();
    for fifth in requests.chunks(requests.len().div_ceil(5)) {
        let begin = ran_ns();
        for request in fifth {
            match server.call(request) {
                Reply::Integer(number) => numbers.push(number),
                Reply::Integers(of) => numbers.push(*of.last().unwrap()),
                other => panic!("{request}: {other:?}"),
            }
        }
        took += &format!(" {:9.2}", each_since(begin, fifth.len()));
    }
    println!("{:>7} {what:<62}{took}", requests.len());
    numbers
}

fn times(count: usize, request: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(request).collect()
}

/// One ticket after the other on one key; then some are given back, and the rest come due.
fn tickets(count: usize) {
    let mut server = Server::new();
    let reserve = |_| "RL.RESERVE k 1 1000 3650d TICKET".to_owned();
    let numbers = measure(
        &mut server,
        "tickets on one key, in order",
        &times(count, reserve),
    );
    let (first, some) = (numbers.len() / 2, count / 10);
    let cancel = |index| format!("RL.CANCEL k {}", numbers[first + index]);
    measure(
        &mut server,
        "given back, in the middle",
        &times(some, cancel),
    );
    measure(
        &mut server,
        "booked into their holes",
        &times(some, reserve),
    );
    let mut peeks = Vec::new();
    for _ in 0..count.min(10_000) {
        peeks.push("DEBUG CLOCK ADVANCE 1ms".to_owned());
        peeks.push("RL.TAKE k 1 1000".to_owned());
    }
    let begin = ran_ns();
    peeks.iter().for_each(|request| drop(server.call(request)));
    let each = each_since(begin, peeks.len());
    println!(
        "{:>7} {:<62} {each:9.2}",
        peeks.len() / 2,
        "coming due one by one, a call each"
    );
}

/// Calls over a phone that all share and one of so many recipients.
fn phone(count: usize, recipients: usize, options: &str) {
    let mut server = Server::new();
    let reserve = |index: usize| {
        let recipient = index % recipients;
        format!("RL.RESERVE phone 2 10 3650d AND r{recipient} PACE 1/6s {options}")
    };
    let what = format!("over a phone and {recipients} recipients {options}");
    measure(&mut server, &what, &times(count, reserve));
}

/// Costs that leave holes, and smaller ones that fill them.
fn holes(count: usize) {
    let mut server = Server::new();
    let large = |_| "RL.RESERVE k 5 10 3650d COST 3 TICKET".to_owned();
    measure(&mut server, "3 of 5 each, in order", &times(count, large));
    let mut server = Server::new();
    for index in 0..count / 2 {
        let wait = 1 + index;
        server.call(&format!("RL.RESERVE other{index} 1 1/{wait}s 3650d COST 1"));
        server.call(&format!(
            "RL.RESERVE k 5 10 3650d COST 3 AND other{index} 1 1/{wait}s TICKET"
        ));
    }
    let small = |_| "RL.RESERVE k 5 10 3650d COST 4 TICKET".to_owned();
    measure(
        &mut server,
        "4 of 5 each between others a second apart",
        &times(count, small),
    );
}

fn main() {
    println!("microseconds a call, of each fifth of them");
    for count in [1_000, 10_000, 100_000] {
        tickets(count);
    }
    for options in ["", "TICKET"] {
        for recipients in [10_000, 100] {
            phone(10_000, recipients, options);
        }
    }
    holes(10_000);
}
