//! `tidegate config` as a shell sees it: exit code, stdout and stderr. What is read and refused is tested beside
//! the code that does it.

use std::process::Command;

use expect_test::{Expect, expect};

/// Runs `tidegate` with `words` and `variables` and nothing else in its environment.
fn check(words: &str, variables: &[(&str, &str)], expected: Expect) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(words.split_whitespace()).env_clear().envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    expected.assert_eq(&format!("exit {code}\n{}{}", text(output.stdout), text(output.stderr)));
}

#[test]
fn a_good_configuration_is_summed_up() {
    check(
        "config check --http 0.0.0.0:80",
        &[("TIDEGATE_LOG_FORMAT", "json")],
        expect![[r#"
            exit 0
            ok: 2 set, 71 at the default
              log_format = "json"  (TIDEGATE_LOG_FORMAT)
              http.address = "0.0.0.0:80"  (--http)
        "#]],
    );
}

#[test]
fn all_mistakes_are_told_at_once_and_the_exit_code_is_2() {
    check(
        "config check --http nowhere",
        &[("TIDEGATE_THREDS", "1")],
        expect![[r#"
        exit 2
        error: TIDEGATE_THREDS: there is no such option
        hint: did you mean TIDEGATE_THREADS?
        error: --http: http.address cannot be "nowhere"; expected an address as host:port, for example 127.0.0.1:8080
        hint: leave it out to keep the default, "127.0.0.1:8080"
    "#]],
    );
}

#[test]
fn serve_does_not_start_on_a_bad_configuration() {
    check(
        "serve --limits-default-burst 5",
        &[],
        expect![[r#"
        exit 2
        error: a default limit needs all of its parts: limits.default_rate and limits.default_period are missing
        hint: set limits.default_rate and limits.default_period, or leave out limits.default_burst
    "#]],
    );
}

#[test]
fn the_file_can_be_named_by_a_variable() {
    check(
        "config check",
        &[("TIDEGATE_CONFIG", "no/such.toml")],
        expect![[r#"
        exit 2
        error: cannot read no/such.toml: No such file or directory (os error 2)
        hint: check the path given by --config or TIDEGATE_CONFIG, or leave it out to use the defaults
    "#]],
    );
}
