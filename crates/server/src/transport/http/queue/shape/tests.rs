//! Bodies as clients send them.

use super::*;

fn message(json: &'static str) -> Result<NewMessage<'static>, String> {
    let body = Bytes::from_static(json.as_bytes());
    // Leaked, so that what borrows from it can leave.
    let message: &'static Message<'static> = Box::leak(Box::new(parse::parse(json.as_bytes()).unwrap()));
    message.new_message(&body).map_err(|refusal| refusal.message().to_owned())
}

#[test]
fn a_message_has_all_that_it_says() {
    let said = message(
        r#"{"payload":"p","headers":{"tenant":"acme"},"fairness_key":"k","weight":2,"cost":3,"delay_ms":4,
            "throttle_keys":["a"],"charges":[{"key":"b","amount":5}]}"#,
    )
    .unwrap();
    assert_eq!((&said.payload[..], said.fairness_key), (&b"p"[..], Some(&b"k"[..])));
    assert_eq!(said.headers, [(&b"tenant"[..], &b"acme"[..])]);
    assert_eq!(
        (said.weight, said.cost, said.delay_ms, said.deliver_at_ms),
        (Some(2), Some(3), Some(4), None)
    );
    assert_eq!(said.throttle_keys, Some(vec![Bytes::from_static(b"a")]));
    assert_eq!(said.charges, [(Bytes::from_static(b"b"), 5)]);
}

#[test]
fn what_is_unsaid_is_not_what_is_empty() {
    let unsaid = message(r#"{"payload":"","throttle_keys":null}"#).unwrap();
    assert_eq!((unsaid.throttle_keys, unsaid.fairness_key), (None, None));
    let empty = message(r#"{"payload":"","throttle_keys":[],"fairness_key":""}"#).unwrap();
    assert_eq!((empty.throttle_keys, empty.fairness_key), (Some(Vec::new()), Some(&b""[..])));
}

#[test]
fn a_payload_is_text_or_base64_and_one_of_them() {
    let payload = |json| message(json).map(|message| message.payload.to_vec());
    assert_eq!(payload(r#"{"payload":"\u00e9\n"}"#), Ok("\u{e9}\n".as_bytes().to_vec()));
    assert_eq!(payload(r#"{"payload_base64":"/wA="}"#), Ok(vec![0xFF, 0]));
    assert!(payload(r#"{"payload_base64":"/wA"}"#).unwrap_err().starts_with("payload_base64 is no base64"));
    assert_eq!(payload("{}").unwrap_err(), "the message has no payload");
    assert!(payload(r#"{"payload":"","payload_base64":""}"#).unwrap_err().contains("both"));
}

#[test]
fn a_payload_is_not_copied_out_of_its_body() {
    let body = Bytes::from_static(br#"{"payload":"plain"}"#);
    let message: Message<'_> = parse::parse(&body).unwrap();
    let payload = message.new_message(&body).unwrap().payload;
    assert!(body.as_ptr_range().contains(&payload.as_ptr()));
}

#[test]
fn one_message_or_several() {
    let count = |json: &str| match Enqueue::parse(json.as_bytes()) {
        Ok(Enqueue::One(_)) => Ok(1),
        Ok(Enqueue::Several(messages)) => Ok(messages.len() + 100),
        Err(refusal) => Err(refusal.message().to_owned()),
    };
    assert_eq!(count(r#"{"payload":"messages"}"#), Ok(1));
    assert_eq!(count(" {\n\t\"messages\" : [{},{}]}"), Ok(102));
    assert_eq!(count(r#"{"messages":[]}"#), Ok(100));
    assert!(
        count(r#"{"messages":[{"payload":7}]}"#)
            .unwrap_err()
            .starts_with("messages[0].payload: invalid type")
    );
    assert!(count(r#"{"messages":[],"payload":""}"#).unwrap_err().contains("unknown field `payload`"));
    assert!(count(r#"{"mesages":[]}"#).unwrap_err().contains("unknown field `mesages`"));
    assert_eq!(count("").unwrap_err(), "the body is empty");
    assert!(count("[]").is_err());
}

#[test]
fn every_example_is_what_it_is_an_example_of() {
    fn check<'a, T: Shape<'a>>() {
        let first = T::EXAMPLE.split(", or").next().unwrap().split(" or ").next().unwrap();
        parse::parse::<T>(first.as_bytes()).unwrap_or_else(|refusal| panic!("{first}: {refusal}"));
    }
    check::<Message<'_>>();
    check::<Receive>();
    check::<Receipts<'_>>();
    check::<Nacks<'_>>();
    check::<Extensions<'_>>();
    check::<Redrive>();
    check::<Limit>();
    check::<Take>();
    check::<Close>();
    check::<Setting<'_>>();
}

#[test]
fn a_nack_may_close_a_key() {
    let body =
        br#"{"items":[{"receipt":"r","close":{"throttle_key":"k","retry_after_ms":5}},{"receipt":"s"}]}"#;
    let nacks: Nacks<'_> = parse::parse(body).unwrap();
    assert_eq!(nacks.items[0].call(&[]).close, Some((&b"k"[..], 5)));
    assert_eq!((nacks.items[1].receipt.as_str(), nacks.items[1].call(&[]).close), ("s", None));
}
