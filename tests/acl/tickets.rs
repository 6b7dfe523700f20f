//! A ticket has keys that a request on it does not name.

use crate::server::Server;

#[test]
fn a_ticket_with_a_key_of_somebody_else_is_refused() {
    let server = Server::new();
    let mut admin = server.connect();
    admin.line("ACL SETUSER tenant on nopass +@all ~own:* &*");
    admin.line("ACL SETUSER both on nopass +@all ~own:* ~other:*");
    let taken = admin.line("RL.TAKE own:a 5 1 COST 2 AND other:a 5 1 COST 2 TICKET");
    let ticket = taken.trim_end().rsplit(':').next().unwrap().to_owned();
    let used = admin.line("RL.USAGE own:a other:a");
    let (mut tenant, mut both) = (server.connect_as("tenant"), server.connect_as("both"));
    for request in [
        format!("RL.CONFIRM own:a {ticket}"),
        format!("RL.SETTLE own:a {ticket} 1"),
        format!("RL.CANCEL own:a {ticket}"),
    ] {
        assert_eq!(
            tenant.line(&request),
            "-NOPERM No permissions to access a key\r\n",
            "{request}"
        );
        tenant.line("MULTI");
        tenant.line(&request);
        let reply = tenant.line("EXEC");
        assert!(reply.starts_with("*1\r\n-NOPERM"), "{reply}");
    }
    assert_eq!(admin.line("RL.USAGE own:a other:a"), used);
    assert_eq!(both.line(&format!("RL.CANCEL own:a {ticket}")), ":2\r\n");
    let own = admin.line("RL.TAKE own:a 5 1 AND own:b 5 1 TICKET");
    let ticket = own.trim_end().rsplit(':').next().unwrap();
    assert_eq!(tenant.line(&format!("RL.CANCEL own:a {ticket}")), ":1\r\n");
}
