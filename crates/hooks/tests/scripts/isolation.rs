//! What a script cannot reach, and what it cannot break for later calls.

use std::sync::Arc;

use tidegate_hooks::{EnqueueInput, FailureInput, FailureVerdict, Hooks, Sandbox};

use crate::scene::{ask, enqueue, patient, sandbox, value_of};

#[test]
fn nothing_reaches_outside() {
    for name in [
        "io",
        "os",
        "package",
        "debug",
        "require",
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "collectgarbage",
        "coroutine",
        "print",
        "warn",
        "string.dump",
        "string.pack",
        "string.unpack",
        "string.packsize",
    ] {
        assert_eq!(value_of(name), "nil", "{name}");
    }
}

#[test]
fn the_library_cannot_be_changed() {
    for body in [
        "string.find = nil",
        "table.insert = nil",
        "math.floor = nil",
        "utf8.char = nil",
        "tidegate.get = nil",
        "tidegate.helpers.max_retries = nil",
        "rawset(string, 'find', nil)",
        "rawset(tidegate.helpers, 'x', 1)",
        "setmetatable(string, {})",
        "setmetatable(_G, {})",
        "getmetatable('').__index = nil",
        "table.insert(string, 1)",
    ] {
        assert!(enqueue(body).is_err(), "{body}");
    }
    assert_eq!(value_of("getmetatable('')"), "false");
    assert_eq!(value_of("getmetatable(_G)"), "false");
    assert_eq!(value_of("next(string)"), "nil");
}

#[test]
fn globals_stay_from_call_to_call() {
    let mut sandbox =
        sandbox("count = 0 function on_enqueue() count = count + 1 return { weight = count } end");
    for expected in 1..=3 {
        assert_eq!(ask(&mut sandbox, &[]).unwrap().weight, Some(expected));
    }
}

#[test]
fn a_script_that_overwrites_names_hurts_itself_only() {
    let on_enqueue = "function on_enqueue() string = nil pcall = nil on_enqueue = nil key = 'mine' return { weight = 7 } end";
    let on_failure =
        "function on_failure() return key == nil and ('x'):upper() == 'X' and { action = 'dlq' } end";
    let hooks = Hooks::compile(Some(on_enqueue), Some(on_failure)).unwrap();
    let mut sandbox = Sandbox::new(&hooks, patient(), Arc::new(())).unwrap();
    for _ in 0..2 {
        assert_eq!(ask(&mut sandbox, &[]).unwrap().weight, Some(7));
        let input = FailureInput { queue: "q", id: "1", headers: &[], attempts: 1, error: "" };
        assert_eq!(sandbox.on_failure(&input).unwrap(), FailureVerdict::DeadLetter);
    }
}

#[test]
fn metatables_work_without_what_escapes_bounds() {
    assert_eq!(value_of("setmetatable({}, { __index = { a = 5 } }).a"), "5");
    assert_eq!(value_of("setmetatable({}, { __call = function(_, x) return x * 2 end })(4)"), "8");
    assert_eq!(value_of("setmetatable({}, { __tostring = function() return 'me' end })"), "me");
    assert_eq!(
        value_of("(function() local m = {} return getmetatable(setmetatable({}, m)) == m end)()"),
        "true"
    );
    assert_eq!(value_of("getmetatable(setmetatable({}, { __metatable = 'locked' }))"), "locked");
    assert!(enqueue("setmetatable(setmetatable({}, { __metatable = 1 }), {})").is_err());
    assert!(enqueue("setmetatable(setmetatable({}, {}), nil)").is_ok());
    let raised = "finalised = false setmetatable({}, { __gc = function() finalised = true end })
        for i = 1, 20000 do local x = {} end
        return { weight = finalised and 1 or 2 }";
    assert_eq!(enqueue(raised).unwrap().weight, Some(2));
    assert!(enqueue("local x <close> = setmetatable({}, { __close = function() end })").is_err());
}

#[test]
fn headers_are_bytes_and_the_later_one_wins() {
    let mut sandbox = sandbox("function on_enqueue(msg) return { fairness_key = msg.headers['k\\xff'] } end");
    let headers: [(&[u8], &[u8]); 2] = [(b"k\xff", b"first"), (b"k\xff", b"\0\xfe")];
    let input = EnqueueInput { queue: "q", headers: &headers, payload_size: u64::MAX };
    assert_eq!(sandbox.on_enqueue(&input).unwrap().fairness_key, Some(b"\0\xfe".to_vec()));
}

#[test]
fn a_message_table_is_the_scripts_own() {
    let mut sandbox = sandbox(
        "function on_enqueue(msg)
            kept = kept or msg
            msg.headers.tenant, msg.queue = nil, nil
            return { fairness_key = kept.headers.tier }
        end",
    );
    assert_eq!(ask(&mut sandbox, &[("tier", "a")]).unwrap().fairness_key, Some(b"a".to_vec()));
    assert_eq!(ask(&mut sandbox, &[("tier", "b")]).unwrap().fairness_key, Some(b"a".to_vec()));
}
