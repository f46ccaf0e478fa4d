//! `tidegate hooks test` as a shell sees it: exit code, stdout and stderr.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use expect_test::{Expect, expect};

/// A script in a file of its own, deleted when it is dropped.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, source: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hooks_command");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, source).unwrap();
        Self(path)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// Runs `tidegate hooks test` on a script, from its folder. What it used differs from run to run.
fn check(script: &Script, words: &[&str], expected: Expect) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(["hooks", "test"]).arg(script.0.file_name().unwrap()).args(words);
    let output = command.current_dir(script.0.parent().unwrap()).env_clear().output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    let all = format!("exit {code}\n{}{}", text(output.stdout), text(output.stderr));
    let steady: String = all.lines().map(|line| format!("{}\n", without_usage(line))).collect();
    expected.assert_eq(&steady);
}

fn without_usage(line: &str) -> &str {
    match line.find("used") {
        Some(at) => &line[..at + "used".len()],
        None => line,
    }
}

#[test]
fn a_verdict_is_a_table_or_json() {
    let script = Script::new(
        "route.lua",
        "function on_enqueue(msg)
            return {
                fairness_key = msg.headers.tenant,
                weight = tonumber(get('weight.' .. msg.headers.tenant) or 1),
                cost = msg.payload_size,
                throttle_keys = { 'queue:' .. msg.queue },
            }
        end
        function on_failure(msg)
            if msg.attempts >= 3 or msg.error == 'gone' then return { action = 'dlq' } end
            return { action = 'retry', delay_ms = msg.attempts * 1000 }
        end",
    );
    let message = r#"{"headers":{"tenant":"a"},"payload":"hello","queue":"mail"}"#;
    check(
        &script,
        &["--message", message, "--set", "weight.a=5", "--set", "weight.b=6"],
        expect![[r#"
            exit 0
            on_enqueue
              fairness key   a
              weight         5
              cost           5
              throttle keys  queue:mail
              used
        "#]],
    );
    check(
        &script,
        &["--message", message, "--json"],
        expect![[r#"
            exit 0
            {"hook":"on_enqueue","used
        "#]],
    );
    check(
        &script,
        &["--hook", "on_failure", "--attempts", "2"],
        expect![[r#"
            exit 0
            on_failure
              action         retry in 2000 ms
              used
        "#]],
    );
    check(
        &script,
        &["--hook", "on_failure", "--error", "gone"],
        expect![[r#"
            exit 0
            on_failure
              action         dead letter
              used
        "#]],
    );
}

#[test]
fn a_script_that_fails_is_told_with_its_line() {
    let raises = Script::new("raises.lua", "function on_enqueue(msg)\n  return msg.missing.field\nend\n");
    check(
        &raises,
        &[],
        expect![[r#"
            exit 1
            error: raises.lua:2: attempt to index a nil value (field 'missing')
            hint: a message goes on with its defaults when the script fails
            used
        "#]],
    );
    check(
        &raises,
        &["--json"],
        expect![[r#"
            exit 1
            {"error":{"line":2,"reason":"raised","text":"attempt to index a nil value (field 'missing')"},"hook":"on_enqueue","used
        "#]],
    );
    check(
        &raises,
        &["--hook", "on_failure"],
        expect![[r#"
            exit 1
            error: raises.lua: the script defines no function on_failure
            hint: write `function on_failure(msg) ... end`, not local; --hook names another function
            used
        "#]],
    );
    check(
        &Script::new("syntax.lua", "function on_enqueue(msg)\n  return {\nend\n"),
        &[],
        expect![[r#"
            exit 1
            error: syntax.lua:3: unexpected symbol near 'end'
            hint: scripts are in Lua 5.4
            used
        "#]],
    );
    check(
        &Script::new("memory.lua", "function on_enqueue(msg)\n\n  return ('x'):rep(1e9)\nend\n"),
        &[],
        expect![[r#"
            exit 1
            error: memory.lua:3: it needed more than 1024 KiB of memory
            hint: keep less: globals stay from message to message
            used
        "#]],
    );
}

#[test]
fn an_endless_script_ends() {
    let script = Script::new("endless.lua", "function on_enqueue(msg)\n  while true do end\nend\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let output = command.args(["hooks", "test"]).arg(&script.0).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    // By its instructions, or on a slow machine by the clock.
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("endless.lua:2: it "), "{stderr}");
}

#[test]
fn what_is_not_run_ends_with_2() {
    let script = Script::new("gone.lua", "");
    let missing = script.0.clone();
    drop(script);
    for words in [vec![], vec!["--message", "{"], vec!["--set", "key"], vec!["--hook", "on_ack"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        let output = command.args(["hooks", "test"]).arg(&missing).args(&words).env_clear().output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert!(output.stderr.starts_with(b"error: "), "{words:?}");
    }
}
