//! Scripts that would run for ever, or take all memory, end; whatever they catch.

use std::cell::Cell;
use std::sync::Arc;

use tidegate_hooks::{Bounds, Clock, Hooks, Reason, Sandbox};

use crate::scene::{ask, patient, sandbox};

/// Runs a script that must fail for `reason`; the same sandbox then serves a call that behaves.
#[track_caller]
fn check(reason: Reason, body: &str) {
    let script =
        format!("function on_enqueue(msg) if msg.headers.good then return {{ weight = 9 }} end {body} end");
    // So that the one bound is not passed while the other is looked for.
    let instructions = if reason == Reason::Memory { u64::MAX } else { 100_000 };
    let bounds = Bounds { instructions, ..patient() };
    let mut sandbox = Sandbox::new(&Hooks::new(Some(&script), None), bounds, Arc::new(())).unwrap();
    let failure = ask(&mut sandbox, &[]).expect_err(body);
    assert_eq!(failure.reason, reason, "{body}: {failure}");
    let usage = sandbox.usage();
    assert!(usage.memory_bytes <= 2 << 20, "{body}: {usage:?}");
    assert_eq!(ask(&mut sandbox, &[("good", "1")]).expect(body).weight, Some(9), "{body}");
}

#[test]
fn endless_loops_end() {
    for body in [
        "while true do end",
        "for i = 1, 1e15 do end",
        "repeat until false",
        "::again:: goto again",
        "local function f() return f() end f()",
        "for _ in function() return 1 end do end",
    ] {
        check(Reason::Instructions, body);
    }
}

#[test]
fn an_error_of_the_bounds_cannot_be_caught() {
    for body in [
        "pcall(function() while true do end end) return { weight = 1 }",
        "return pcall(function() while true do end end) and {} or {}",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "xpcall(error, function() while true do end end)",
        "pcall(pcall, pcall, function() while true do end end)",
        "local function f() pcall(f) while true do end end f()",
        "tostring(setmetatable({}, { __tostring = function() while true do end end }))",
        "local t = setmetatable({}, { __index = function(t, k) while true do pcall(error) end end }) return t.x",
        "local t = setmetatable({}, { __eq = function() while true do end end }) return t == setmetatable({}, getmetatable(t))",
        "local m = {} local t = setmetatable({}, m) m.__close = function() while true do end end
         pcall(function() local x <close> = nil while true do end end)",
        "table.sort({ 3, 2, 1 }, function() while true do pcall(error) end end)",
        "('x'):gsub('.', function() while true do pcall(error) end end)",
        "for w in ('x y'):gmatch('%a') do while true do end end",
        "setmetatable({}, { __gc = function() while true do end end }) while true do local x = {} end",
        "local e = setmetatable({}, { __tostring = function() while true do end end }) pcall(error, e) tostring(e)",
        "error(setmetatable({}, { __tostring = function() return 'x' end, __index = 1, x = (function() while true do end end)() }))",
    ] {
        check(Reason::Instructions, body);
    }
}

#[test]
fn functions_in_c_are_bounded_too() {
    for body in [
        // Patterns that backtrack.
        "string.find(('a'):rep(5000), ('.-'):rep(20) .. 'b')",
        "string.match(('a'):rep(5000), '(.-)(.-)(.-)(.-)b')",
        "('a'):rep(5000):find(('a*'):rep(20) .. 'b')",
        "string.gsub(('a'):rep(5000), ('a-'):rep(10) .. 'b', 'x')",
        "for x in string.gmatch(('a'):rep(5000), ('a?'):rep(50) .. ('a*'):rep(10) .. 'b') do end",
        "local p = '[' .. ('x'):rep(50000) .. ']' while true do ('a'):rep(9000):find(p) end",
        "string.find(('('):rep(20000), '%b()x')",
        "pcall(string.find, ('a'):rep(5000), ('.-'):rep(20) .. 'b') return {}",
        "while true do pcall(string.find, ('a'):rep(5000), ('.-'):rep(20) .. 'b') end",
        // Loops over lengths that a script makes up.
        "table.move({}, 1, 1e15, 2)",
        "table.insert(setmetatable({}, { __len = function() return 1e15 // 1 | 0 end }), 1, 'x')",
        "table.remove(setmetatable({}, { __len = function() return 1e15 // 1 | 0 end }), 1)",
        "table.sort(setmetatable({}, { __len = function() return 1 << 40 end, __index = function(_, k) return k end }))",
        "table.concat(setmetatable({}, { __index = table.concat }), '', 1, 1e15 // 1 | 0)",
        "table.concat(setmetatable({}, { __index = function() return '' end }), '', 1, 1e15 // 1 | 0)",
    ] {
        check(Reason::Instructions, body);
    }
    let mut sandbox =
        sandbox("function on_enqueue() return { fairness_key = (''):rep(1e15) .. ('ab'):rep(2, '-') } end");
    assert_eq!(ask(&mut sandbox, &[]).unwrap().fairness_key, Some(b"ab-ab".to_vec()));
}

#[test]
fn memory_cannot_be_taken() {
    for body in [
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local s = 'x' while true do s = s .. s end",
        "return { fairness_key = ('x'):rep(1e9) }",
        "('x'):rep(1 << 21)",
        "pcall(string.rep, 'x', 1e9) return { weight = 1 }",
        "while true do pcall(string.rep, 'x', 1e9) end",
        "local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = {} end end) end",
        "local function f(...) return f(1, ...) end f()",
        "local t = {} for i = 1, 20000 do t[i] = 1 end string.format(('%99d'):rep(20000), table.unpack(t))",
        "table.concat(setmetatable({}, { __index = rawlen }), 'xxxxxxxxxxxxxxxxxx', 1, 60000)",
        "table.unpack({}, 1, 900000)",
        "local t = { ('x'):rep(9e5) } while true do t[#t + 1] = ('y'):rep(9e4) end",
    ] {
        check(Reason::Memory, body);
    }
}

#[test]
fn garbage_is_not_held_against_a_script() {
    let mut sandbox = sandbox(
        "function on_enqueue() for i = 1, 2000 do local s = ('x'):rep(i) end return { weight = 1 } end",
    );
    for _ in 0..20 {
        assert_eq!(ask(&mut sandbox, &[]).unwrap().weight, Some(1));
    }
}

#[test]
fn what_globals_pile_up_is_bounded_over_calls() {
    let mut sandbox = sandbox(
        "kept = {} function on_enqueue() for i = 1, 100 do kept[#kept + 1] = ('x'):rep(100) .. #kept end end",
    );
    let calls = (0..1000).take_while(|_| ask(&mut sandbox, &[]).is_ok()).count();
    assert!((30..100).contains(&calls), "{calls} calls of some 15 KiB each fit in 1 MiB");
    assert_eq!(ask(&mut sandbox, &[]).unwrap_err().reason, Reason::Memory);
}

#[test]
fn a_large_message_is_not_the_scripts_memory() {
    let mut sandbox = sandbox("function on_enqueue(msg) return { weight = #msg.headers.large } end");
    let large = "x".repeat(3 << 20);
    for _ in 0..10 {
        assert_eq!(ask(&mut sandbox, &[("large", &large)]).unwrap().weight, Some(3 << 20));
    }
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock on which every look takes a millisecond, of work or of waiting.
fn millisecond_a_look() -> u64 {
    NOW.with(|now| now.replace(now.get() + 1_000_000))
}

const WORKING: Clock = Clock { wall: millisecond_a_look, processor: || NOW.with(Cell::get) };
const WAITING: Clock = Clock { wall: millisecond_a_look, processor: || 0 };

#[test]
fn the_clock_ends_a_script() {
    let bounds = Bounds { instructions: u64::MAX, ..Bounds::default() };
    for body in [
        "\nwhile true do end",
        "\nwhile true do pcall(function() while true do end end) end",
        "\nwhile true do local s = ('x'):upper() end",
        "\nstring.find(('a'):rep(5000), ('.-'):rep(20) .. 'b')",
    ] {
        let hooks = Hooks::new(Some(&format!("function on_enqueue() {body} end")), None);
        let mut sandbox = Sandbox::with_clock(&hooks, bounds, Arc::new(()), WORKING).unwrap();
        let failure = ask(&mut sandbox, &[]).unwrap_err();
        assert_eq!(failure.to_string(), "on_enqueue, line 2: it took more than 10 ms", "{body}");
        assert!(sandbox.usage().wall_ns <= 14_000_000, "{body}: {:?}", sandbox.usage());
    }
}

#[test]
fn time_that_the_machine_took_is_not_the_scripts() {
    let hooks =
        Hooks::new(Some("function on_enqueue() for i = 1, 5000 do end return { weight = 1 } end"), None);
    let mut sandbox = Sandbox::with_clock(&hooks, Bounds::default(), Arc::new(()), WAITING).unwrap();
    assert_eq!(ask(&mut sandbox, &[]).unwrap().weight, Some(1));
    assert!(sandbox.usage().wall_ns > 40_000_000, "{:?}", sandbox.usage());
    let mut sandbox = Sandbox::with_clock(&hooks, Bounds::default(), Arc::new(()), WORKING).unwrap();
    assert_eq!(ask(&mut sandbox, &[]).unwrap_err().reason, Reason::Time);
}

#[test]
fn use_is_told_exactly_when_asked_for() {
    let hooks =
        Hooks::new(Some("function on_enqueue() local s = ('x'):rep(5000) return { weight = #s } end"), None);
    let mut sandbox = Sandbox::new(&hooks, Bounds { step: 1, ..patient() }, Arc::new(())).unwrap();
    ask(&mut sandbox, &[]).unwrap();
    let first = sandbox.usage();
    assert!((10..100).contains(&first.instructions), "{first:?}");
    assert!((5000..20_000).contains(&first.memory_bytes), "{first:?}");
    ask(&mut sandbox, &[]).unwrap();
    assert_eq!(sandbox.usage().instructions, first.instructions);

    let hooks = Hooks::new(Some("function on_enqueue()\n\nreturn ('x'):rep(1e9) end"), None);
    let mut sandbox = Sandbox::new(&hooks, Bounds { step: 1, ..patient() }, Arc::new(())).unwrap();
    assert_eq!(
        ask(&mut sandbox, &[]).unwrap_err().to_string(),
        "on_enqueue, line 3: it needed more than 1024 KiB of memory"
    );
}
