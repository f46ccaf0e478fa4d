//! What comes out of the hooks, wrong shapes included.

use tidegate_hooks::{EnqueueVerdict, FailureVerdict, Hooks, Reason};

use crate::scene::{enqueue, failure, value_of};

fn key(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

#[test]
fn everything_at_once() {
    let verdict = enqueue(
        "return {
            fairness_key = msg.headers.tenant,
            weight = msg.headers.tier == 'gold' and 3 or 1,
            cost = msg.payload_size // 10,
            throttle_keys = { 'queue:' .. msg.queue, 'tenant:' .. msg.headers.tenant },
        }",
    );
    assert_eq!(
        verdict.unwrap(),
        EnqueueVerdict {
            fairness_key: key("acme"),
            weight: Some(3),
            cost: Some(4),
            throttle_keys: Some(vec![b"queue:mail".to_vec(), b"tenant:acme".to_vec()]),
        }
    );
}

#[test]
fn a_wrong_shape_falls_back_field_by_field() {
    let good = EnqueueVerdict { fairness_key: key("k"), ..EnqueueVerdict::default() };
    for rest in [
        "weight = 'x'",
        "weight = -1",
        "weight = 1.5",
        "weight = 4294967296",
        "weight = '3'",
        "weight = 0/0",
        "cost = {}",
        "cost = -7",
        "throttle_keys = 'a'",
        "unknown = 1",
    ] {
        assert_eq!(enqueue(&format!("return {{ fairness_key = 'k', {rest} }}")).unwrap(), good, "{rest}");
    }
    for body in ["", "return nil", "return 1", "return 'key'", "return {}", "return { fairness_key = 42 }"] {
        assert_eq!(enqueue(body).unwrap(), EnqueueVerdict::default(), "{body}");
    }
    let verdict =
        enqueue("return { throttle_keys = { 1, 'a', false, {}, 'b' }, weight = 2.0, cost = 0 }").unwrap();
    assert_eq!(verdict.throttle_keys, Some(vec![b"a".to_vec(), b"b".to_vec()]));
    assert_eq!((verdict.weight, verdict.cost), (Some(2), Some(0)));
    assert_eq!(enqueue("return { throttle_keys = {} }").unwrap().throttle_keys, Some(vec![]));
}

#[test]
fn keys_are_bytes_and_bounded() {
    assert_eq!(
        enqueue("return { fairness_key = 'a\\0\\xff' }").unwrap().fairness_key,
        Some(b"a\0\xff".to_vec())
    );
    assert_eq!(
        enqueue("return { fairness_key = ('x'):rep(1024) }").unwrap().fairness_key.unwrap().len(),
        1024
    );
    for body in [
        "return { fairness_key = ('x'):rep(1025) }",
        "return { throttle_keys = { 'a', ('x'):rep(1025) } }",
        "local keys = {} for i = 1, 33 do keys[i] = 'k' .. i end return { throttle_keys = keys }",
    ] {
        let failure = enqueue(body).unwrap_err();
        assert_eq!(failure.reason, Reason::Verdict, "{body}: {failure}");
    }
}

#[test]
fn a_failed_attempt_is_retried_or_not() {
    let retry = |delay_ms| FailureVerdict::Retry { delay_ms };
    for (body, verdict) in [
        ("return { action = 'retry' }", retry(None)),
        ("return { action = 'retry', delay_ms = 1500 }", retry(Some(1500))),
        ("return { action = 'retry', delay_ms = 1500.7 }", retry(Some(1500))),
        ("return { action = 'retry', delay_ms = -1 }", retry(None)),
        ("return { action = 'retry', delay_ms = 0/0 }", retry(None)),
        ("return { action = 'retry', delay_ms = 1/0 }", retry(None)),
        ("return { action = 'retry', delay_ms = 'soon' }", retry(None)),
        ("return { action = 'dlq' }", FailureVerdict::DeadLetter),
        ("return { action = 'dead_letter' }", FailureVerdict::DeadLetter),
        ("return { action = 'burn' }", FailureVerdict::Default),
        ("return { delay_ms = 5 }", FailureVerdict::Default),
        ("", FailureVerdict::Default),
        ("return 'dlq'", FailureVerdict::Default),
        ("if msg.attempts == 3 then return { action = 'dlq' } end", FailureVerdict::DeadLetter),
        ("if msg.error:find('421', 1, true) then return { action = 'retry' } end", retry(None)),
        ("if msg.id == '0192f3c4a1b20001' then return { action = 'dlq' } end", FailureVerdict::DeadLetter),
        (
            "if msg.headers.tenant == 'acme' and msg.queue == 'mail' then return { action = 'dlq' } end",
            FailureVerdict::DeadLetter,
        ),
        (
            "return tidegate.helpers.max_retries(msg.attempts, tonumber(tidegate.get('attempts')))",
            retry(None),
        ),
        ("return tidegate.helpers.max_retries(msg.attempts, 3)", FailureVerdict::DeadLetter),
    ] {
        assert_eq!(failure(body).unwrap(), verdict, "{body}");
    }
}

#[test]
fn helpers() {
    assert_eq!(value_of("tidegate.helpers.tenant_route(msg, 'tenant').fairness_key"), "acme");
    assert_eq!(value_of("tidegate.helpers.tenant_route(msg, 'nobody').fairness_key"), "default");
    let patterns = "{ 'a:{tenant}', 'b:{missing}', '{tier}/{tenant}', 'plain' }";
    let keys = format!("table.concat(tidegate.helpers.rate_limit_keys(msg, {patterns}), ' ')");
    assert_eq!(value_of(&keys), "a:acme gold/acme plain");
    for (attempts, low, high) in
        [(0, 75, 125), (1, 75, 125), (2, 150, 250), (4, 600, 1000), (5, 750, 1000), (10_000, 750, 1000)]
    {
        for _ in 0..20 {
            let delay = value_of(&format!("tidegate.helpers.exponential_backoff({attempts}, 100, 1000)"));
            let delay: u64 = delay.parse().unwrap();
            assert!((low..=high).contains(&delay), "{attempts} attempts: {delay} ms");
        }
    }
}

#[test]
fn settings_are_read_at_each_call() {
    assert_eq!(value_of("get('nothing')"), "nil");
    assert_eq!(
        failure("if get('attempts') == '5' then return { action = 'dlq' } end"),
        Ok(FailureVerdict::DeadLetter)
    );
}

#[test]
fn a_script_that_is_none_is_told_at_once() {
    let check = |on_enqueue, on_failure, expected: &str| {
        assert_eq!(Hooks::compile(on_enqueue, on_failure).unwrap_err().to_string(), expected);
    };
    check(
        Some("local x = 1\nfunction on_enqueue(msg\n"),
        None,
        "on_enqueue, line 3: ')' expected near <eof>",
    );
    check(Some("x = 1"), None, "on_enqueue: the script defines no function on_enqueue");
    check(Some("on_enqueue = 1"), None, "on_enqueue: the script defines no function on_enqueue");
    check(None, Some("function on_enqueue() end"), "on_failure: the script defines no function on_failure");
    check(
        Some("\n\nlocal x = nil + 1"),
        None,
        "on_enqueue, line 3: attempt to perform arithmetic on a nil value",
    );
    check(Some("\nwhile true do end"), None, "on_enqueue, line 2: it ran more than 100000 instructions");
    check(Some("\x1bLua"), None, "on_enqueue: attempt to load a binary chunk (mode is 't')");
    assert!(Hooks::compile(Some(&"-".repeat(64 * 1024 + 1)), None).is_err());
    assert!(Hooks::compile(None, None).unwrap().is_empty());
    let both = "function on_enqueue() end function on_failure() end";
    assert!(!Hooks::compile(Some(both), Some(both)).unwrap().is_empty());
}

#[test]
fn an_error_names_its_line() {
    let check = |body: &str, expected: &str| assert_eq!(enqueue(body).unwrap_err().to_string(), expected);
    check(
        "\n\nreturn msg.nothing.at_all",
        "on_enqueue, line 3: attempt to index a nil value (field 'nothing')",
    );
    check("\nerror('no tenant')", "on_enqueue, line 2: no tenant");
    check("\nerror({})", "on_enqueue, line 2: a value that is not text was raised as an error");
    check("\n\nerror()", "on_enqueue, line 3: nil was raised as an error");
    check("\n('x'):find('[a')", "on_enqueue, line 2: malformed pattern (missing ']')");
    check("\ntable.sort({ 1, 'x' })", "on_enqueue, line 2: attempt to compare string with number");
    check(
        "\ntable.insert(nil, 1)",
        "on_enqueue, line 2: bad argument #1 to 'insert' (table expected, got nil)",
    );
    assert_eq!(enqueue("error(('x'):rep(9e5))").unwrap_err().text.len() / 100, 4, "cut");
}
