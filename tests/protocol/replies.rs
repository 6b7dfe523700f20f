//! The bytes of each reply, in both protocols.
use tollgate::protocol::limits::TEXT_BYTES_MAX;
use tollgate::protocol::{Protocol, Reply};

/// What `write` writes to an empty buffer.
pub fn written(protocol: Protocol, write: impl FnOnce(&mut Reply<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Reply::new(&mut out, protocol));
    out
}

/// `write` gives exactly these bytes.
#[track_caller]
fn gives(write: impl Fn(&mut Reply<'_>), resp2: &str, resp3: &str) {
    assert_eq!(
        String::from_utf8(written(Protocol::Resp2, &write)).unwrap(),
        resp2
    );
    assert_eq!(
        String::from_utf8(written(Protocol::Resp3, &write)).unwrap(),
        resp3
    );
}

#[track_caller]
fn gives_in_both(write: impl Fn(&mut Reply<'_>), bytes: &str) {
    gives(write, bytes, bytes);
}

#[test]
fn values_of_both_protocols_look_alike_in_both() {
    gives_in_both(|reply| reply.ok(), "+OK\r\n");
    gives_in_both(|reply| reply.simple("PONG"), "+PONG\r\n");
    gives_in_both(|reply| reply.error("ERR no"), "-ERR no\r\n");
    gives_in_both(
        |reply| reply.error_display(format_args!("ERR {}", 5)),
        "-ERR 5\r\n",
    );
    gives_in_both(|reply| reply.bulk(b""), "$0\r\n\r\n");
    gives_in_both(|reply| reply.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n");
    gives_in_both(
        |reply| reply.bulk_display(format_args!("{}:{}", 12345, "ab")),
        "$8\r\n12345:ab\r\n",
    );
    gives_in_both(|reply| reply.bulk_display(""), "$0\r\n\r\n");
    gives_in_both(|reply| reply.array(0), "*0\r\n");
    gives_in_both(|reply| reply.array(12), "*12\r\n");
    for number in [0, 1, 9, 10, -1, -10, i64::MAX, i64::MIN] {
        gives_in_both(|reply| reply.integer(number), &format!(":{number}\r\n"));
    }
    gives_in_both(|reply| reply.integers(&[]), "*0\r\n");
    gives_in_both(
        |reply| reply.integers(&[0, 16, -1, i64::MIN]),
        "*4\r\n:0\r\n:16\r\n:-1\r\n:-9223372036854775808\r\n",
    );
}

#[test]
fn values_of_resp3_have_their_old_form_in_resp2() {
    gives(|reply| reply.null(), "$-1\r\n", "_\r\n");
    gives(|reply| reply.null_array(), "*-1\r\n", "_\r\n");
    gives(|reply| reply.map(7), "*14\r\n", "%7\r\n");
    gives(|reply| reply.set(3), "*3\r\n", "~3\r\n");
    gives(|reply| reply.push(3), "*3\r\n", ">3\r\n");
    gives(|reply| reply.double(0.25), "$4\r\n0.25\r\n", ",0.25\r\n");
    gives(|reply| reply.double(-3.0), "$2\r\n-3\r\n", ",-3\r\n");
    gives(
        |reply| reply.double(f64::INFINITY),
        "$3\r\ninf\r\n",
        ",inf\r\n",
    );
    gives(
        |reply| reply.double(f64::NEG_INFINITY),
        "$4\r\n-inf\r\n",
        ",-inf\r\n",
    );
    gives(|reply| reply.double(f64::NAN), "$3\r\nnan\r\n", ",nan\r\n");
    gives(|reply| reply.boolean(true), ":1\r\n", "#t\r\n");
    gives(|reply| reply.boolean(false), ":0\r\n", "#f\r\n");
    gives(
        |reply| reply.verbatim("txt", b"a\r\n"),
        "$3\r\na\r\n\r\n",
        "=7\r\ntxt:a\r\n\r\n",
    );
}

#[test]
fn an_error_text_cannot_write_a_second_reply() {
    for (text, shown) in [
        (
            "ERR unknown command 'a\r\n+OK\r\n'",
            "ERR unknown command 'a  +OK  '",
        ),
        ("ERR \n", "ERR  "),
        ("\r\n:1", "  :1"),
        ("ERR \0\x07\x1b[31m\x7f\ttab", "ERR    [31m  tab"),
        ("ERR grüße", "ERR grüße"),
        ("", ""),
    ] {
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            for (kind, bytes) in [
                ("-", written(protocol, |reply| reply.error(text))),
                ("-", written(protocol, |reply| reply.error_display(text))),
                ("+", written(protocol, |reply| reply.simple(text))),
            ] {
                assert_eq!(
                    String::from_utf8(bytes).unwrap(),
                    format!("{kind}{shown}\r\n")
                );
            }
        }
    }
}

#[test]
fn an_error_text_is_cut_between_two_characters() {
    let bytes = written(Protocol::Resp2, |reply| reply.error(&"e".repeat(5000)));
    assert_eq!(
        bytes,
        format!("-{}\r\n", "e".repeat(TEXT_BYTES_MAX)).into_bytes()
    );
    let bytes = written(Protocol::Resp2, |reply| {
        reply.error(&format!("e{}", "é".repeat(5000)))
    });
    assert_eq!(
        bytes,
        format!("-e{}\r\n", "é".repeat(TEXT_BYTES_MAX / 2 - 1)).into_bytes()
    );
    // In pieces, the end of one that is cut is the end of all.
    let long = "é".repeat(TEXT_BYTES_MAX);
    let bytes = written(Protocol::Resp2, |reply| {
        reply.error_display(format_args!("e{long}{}", "e"))
    });
    assert_eq!(
        bytes,
        format!("-e{}\r\n", "é".repeat(TEXT_BYTES_MAX / 2 - 1)).into_bytes()
    );
}

#[test]
fn a_half_written_reply_can_be_dropped() {
    let mut out = b"+OK\r\n".to_vec();
    let mut reply = Reply::new(&mut out, Protocol::Resp3);
    let position = reply.position();
    reply.map(2);
    reply.bulk(b"half");
    reply.truncate(position);
    reply.error("ERR changed my mind");
    reply.truncate(usize::MAX);
    assert_eq!(out, b"+OK\r\n-ERR changed my mind\r\n");
}

#[test]
fn the_protocol_may_change_before_a_reply() {
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, Protocol::default());
    assert_eq!(reply.protocol(), Protocol::Resp2);
    reply.null();
    reply.set_protocol(Protocol::Resp3);
    reply.null();
    assert_eq!(reply.protocol(), Protocol::Resp3);
    assert_eq!(out, b"$-1\r\n_\r\n");
}
