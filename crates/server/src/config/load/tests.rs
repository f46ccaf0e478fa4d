//! Loading as data: what the three sources say, and what comes out.

use std::collections::HashMap;
use std::path::Path;

use expect_test::{Expect, expect};

use super::*;
use crate::config::file::File;
use crate::config::print;

/// What the three sources say. The file is called `t.toml`.
#[derive(Default)]
struct Said<'a> {
    file: &'a str,
    env: &'a [(&'a str, &'a str)],
    flags: &'a [(&'a str, &'a str)],
}

impl Said<'_> {
    fn load(&self) -> Result<Loaded, Error> {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let flag = |(path, value): &(&str, &str)| (path.to_string(), value.to_string());
        let sources = Sources {
            file: None,
            variables: self.env.iter().map(pair).collect(),
            flags: self.flags.iter().map(flag).collect::<HashMap<_, _>>(),
        };
        let mut draft = Draft::default();
        file::read_text(File { path: Path::new("t.toml"), text: self.file }, &mut draft);
        merge(&sources, draft)
    }
}

/// What is set and from where, or what is wrong.
fn check(said: Said<'_>, expected: Expect) {
    let outcome = match said.load() {
        Ok(loaded) => print::summary(&loaded),
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&outcome);
}

fn check_file(file: &str, expected: Expect) {
    check(Said { file, ..Said::default() }, expected);
}

#[test]
fn nothing_said_is_the_default() {
    assert_eq!(Said::default().load().unwrap().config, Config::default());
}

#[test]
fn a_flag_wins_over_a_variable_over_the_file() {
    let said = Said {
        file: "threads = 1\nlog_level = 'warn'\n[http]\nmax_batch = 1",
        env: &[("TIDEGATE_THREADS", "2"), ("TIDEGATE_LOG_LEVEL", "error"), ("HOME", "elsewhere")],
        flags: &[("threads", "3")],
    };
    check(
        said,
        expect![[r#"
            ok: 3 set, 70 at the default
              log_level = "error"  (TIDEGATE_LOG_LEVEL)
              threads = 3  (--threads)
              http.max_batch = 1  (t.toml:4)
        "#]],
    );
}

#[test]
fn every_kind_of_value_is_read_from_text() {
    let said = Said {
        env: &[
            ("TIDEGATE_RESP_ENABLED", "false"),
            ("TIDEGATE_RESP_ADDRESS", "[::1]:0"),
            ("TIDEGATE_KEYS_WHEN_FULL", "refuse"),
            ("TIDEGATE_AUTH_TOKEN", "hunter2"),
            ("TIDEGATE_DATA_DIR", "elsewhere"),
            ("TIDEGATE_LIMITS_DEFAULT_BURST", "1"),
            ("TIDEGATE_LIMITS_DEFAULT_RATE", "2"),
            ("TIDEGATE_LIMITS_DEFAULT_PERIOD", "9223372036854775807"),
        ],
        ..Said::default()
    };
    check(
        said,
        expect![[r#"
            ok: 8 set, 65 at the default
              data_dir = "elsewhere"  (TIDEGATE_DATA_DIR)
              auth_token = "(hidden)"  (TIDEGATE_AUTH_TOKEN)
              resp.enabled = false  (TIDEGATE_RESP_ENABLED)
              resp.address = "[::1]:0"  (TIDEGATE_RESP_ADDRESS)
              keys.when_full = "refuse"  (TIDEGATE_KEYS_WHEN_FULL)
              limits.default_burst = 1  (TIDEGATE_LIMITS_DEFAULT_BURST)
              limits.default_rate = 2  (TIDEGATE_LIMITS_DEFAULT_RATE)
              limits.default_period = 9223372036854775807  (TIDEGATE_LIMITS_DEFAULT_PERIOD)
        "#]],
    );
}

#[test]
fn an_unknown_key_is_told_with_what_was_meant() {
    let file = "log_levle = 'info'\nmax_keys = 3\nquarrel = 1\n[htp]\nenabled = true\n[resp]\nmax_conections = 3\nport = 1";
    check_file(
        file,
        expect![[r#"
        error: t.toml:1: there is no option log_levle
        hint: did you mean log_level?
        error: t.toml:2: there is no option max_keys
        hint: did you mean max_keys under [keys]?
        error: t.toml:3: there is no option quarrel
        hint: `tidegate config print` lists every option
        error: t.toml:4: there is no option htp
        hint: did you mean [http]?
        error: t.toml:7: there is no option resp.max_conections
        hint: did you mean max_connections?
        error: t.toml:8: there is no option resp.port
        hint: `tidegate config print` lists every option
    "#]],
    );
}

#[test]
fn an_unknown_variable_is_told_and_those_of_others_are_not() {
    let said = Said {
        env: &[
            ("TIDEGATE_RESP_ADRESS", "127.0.0.1:1"),
            ("TIDEGATE_XYZ", ""),
            ("TIDEGATE_BIN", "elsewhere/tidegate"),
            ("TIDEGATE_CONFIG", ""),
            ("TIDEGATE_SERVICE_HOST", "10.0.0.1"),
            ("TIDEGATE_SERVICE_PORT_HTTP", "8080"),
            ("TIDEGATE_HTTP_PORT", "tcp://10.0.0.1:8080"),
            ("TIDEGATE_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ],
        ..Said::default()
    };
    check(
        said,
        expect![[r#"
        error: TIDEGATE_RESP_ADRESS: there is no such option
        hint: did you mean TIDEGATE_RESP_ADDRESS?
        error: TIDEGATE_XYZ: there is no such option
        hint: unset it; `tidegate config reference` lists every variable
    "#]],
    );
}

#[test]
fn a_bad_value_names_where_it_is_and_what_would_do() {
    let file = "threads = '4'\nlog_level = 'wran'\nauth_token = 'two words'\nhttp = true\n\
                [resp]\naddress = 'localhost'\nmax_connections = 0\nidle_timeout_ms = 1.5\nenabled = 1\n\
                [limits]\ndefault_burst = -1";
    check_file(
        file,
        expect![[r#"
        error: t.toml:1: threads cannot be "4"; expected a whole number from 0 to 1024
        hint: write it without quotes: threads = 4
        error: t.toml:2: log_level cannot be "wran"; expected one of error, warn, info, debug, trace
        hint: did you mean warn?
        error: t.toml:3: auth_token cannot be what it was set to (not shown); expected a token of visible ASCII characters, without spaces
        hint: `openssl rand -hex 32` makes a good token
        error: t.toml:4: http is a section, not an option
        hint: write [http] and put its options below
        error: t.toml:6: resp.address cannot be "localhost"; expected an address as host:port, for example 127.0.0.1:8080
        hint: leave it out to keep the default, "127.0.0.1:6380"
        error: t.toml:7: resp.max_connections cannot be 0; expected a whole number from 1 to 1000000
        hint: leave it out to keep the default, 16384
        error: t.toml:8: resp.idle_timeout_ms cannot be 1.5; expected a whole number from 0 to 86400000
        hint: leave it out to keep the default, 300000
        error: t.toml:9: resp.enabled cannot be 1; expected true or false
        hint: leave it out to keep the default, true
        error: t.toml:11: limits.default_burst cannot be -1; expected a whole number of at least 1
        hint: leave it out to keep it unset
    "#]],
    );
    let said = Said {
        env: &[("TIDEGATE_HTTP_ADDRESS", ":8080"), ("TIDEGATE_DATA_DIR", "")],
        flags: &[("http.max_batch", "-1")],
        ..Said::default()
    };
    check(
        said,
        expect![[r#"
        error: TIDEGATE_HTTP_ADDRESS: http.address cannot be ":8080"; expected an address as host:port, for example 127.0.0.1:8080
        hint: leave it out to keep the default, "127.0.0.1:8080"
        error: TIDEGATE_DATA_DIR: data_dir cannot be ""; expected the path of a directory
        hint: leave it out to keep the default, "./tidegate-data"
        error: --http-max-batch: http.max_batch cannot be "-1"; expected a whole number from 1 to 1000000
        hint: leave it out to keep the default, 1000
    "#]],
    );
}

#[test]
fn a_file_that_is_not_toml_is_told_by_line() {
    check_file(
        "threads = 1\nthreads = 2\n[http\n",
        expect![[r#"
        error: t.toml:2: duplicate key
        hint: the file is TOML; `tidegate config print` shows a complete one
        error: t.toml:3: unclosed table, expected `]`
        hint: the file is TOML; `tidegate config print` shows a complete one
    "#]],
    );
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let file = Some("no/such/file.toml".into());
    let error = load(&Sources { file, ..Sources::default() }).unwrap_err();
    expect![[r#"
        error: cannot read no/such/file.toml: No such file or directory (os error 2)
        hint: check the path given by --config or TIDEGATE_CONFIG, or leave it out to use the defaults"#]]
    .assert_eq(&error.to_string());
}

#[test]
fn options_that_do_not_go_together_are_told() {
    check_file(
        "[limits]\ndefault_burst = 1\n",
        expect![[r#"
        error: a default limit needs all of its parts: limits.default_rate and limits.default_period are missing
        hint: set limits.default_rate and limits.default_period, or leave out limits.default_burst
    "#]],
    );
    check_file(
        "[limits]\ndefault_burst = 1\ndefault_rate = 1",
        expect![[r#"
        error: a default limit needs all of its parts: limits.default_period is missing
        hint: set limits.default_period, or leave out limits.default_burst and limits.default_rate
    "#]],
    );
    check_file(
        "http.enabled = false\nresp.enabled = false\nmsgpack.enabled = false",
        expect![[r#"
        error: every door is closed: http.enabled, resp.enabled and msgpack.enabled are all false
        hint: open at least one of them
    "#]],
    );
    check_file(
        "http.address = '127.0.0.1:9090'",
        expect![[r#"
        error: http.address and msgpack.address are both 127.0.0.1:9090
        hint: give msgpack.address a port of its own, or port 0 for any that is free
    "#]],
    );
    check_file(
        "ledger.lease_ttl_ms = 5000\nledger.max_lease_ttl_ms = 4000",
        expect![[r#"
        error: ledger.lease_ttl_ms is 5000, longer than ledger.max_lease_ttl_ms = 4000
        hint: lower the first, or raise the second
    "#]],
    );
    check_file(
        "http.address = '127.0.0.1:0'\nresp.address = '127.0.0.1:0'",
        expect![[r#"
            ok: 2 set, 71 at the default
              http.address = "127.0.0.1:0"  (t.toml:1)
              resp.address = "127.0.0.1:0"  (t.toml:2)
        "#]],
    );
    check_file(
        "keys.max_key_bytes = 65536\nmsgpack.enabled = false",
        expect![[r#"
            ok: 2 set, 71 at the default
              msgpack.enabled = false  (t.toml:2)
              keys.max_key_bytes = 65536  (t.toml:1)
        "#]],
    );
}

#[test]
fn limits_are_a_text_or_in_a_file_a_list() {
    check_file(
        "[ledger]\ndefault_limits = [\n  'rpm=3/day', # each\n  'tpm=10000/minute,burst=20000',\n]",
        expect![[r#"
            ok: 1 set, 72 at the default
              ledger.default_limits = "rpm=3/day; tpm=10000/minute,burst=20000"  (t.toml:2)
        "#]],
    );
    check_file(
        "[ledger]\ndefault_limits = 'rpm=3/day; inflight=8'",
        expect![[r#"
        ok: 1 set, 72 at the default
          ledger.default_limits = "rpm=3/day; inflight=8"  (t.toml:2)
    "#]],
    );
    check_file(
        "[ledger]\ndefault_limits = ['rpm=3/day', 8]",
        expect![[r#"
        error: t.toml:2: ledger.default_limits cannot be ['rpm=3/day', 8]; expected limits of different names, for example "rpm=60/minute; inflight=8", or in a file ["rpm=60/minute", "inflight=8"]
        hint: leave it out to keep the default, ""
    "#]],
    );
    check_file(
        "[ledger]\ndefault_limits = ['rpm=3/day', 'rpm']",
        expect![[r#"
        error: t.toml:2: ledger.default_limits cannot be ["rpm=3/day", "rpm"]; expected limits of different names, for example "rpm=60/minute; inflight=8", or in a file ["rpm=60/minute", "inflight=8"]
        hint: leave it out to keep the default, ""
    "#]],
    );
    check_file(
        "[ledger]\ndefault_limits = 8",
        expect![[r#"
        error: t.toml:2: ledger.default_limits cannot be 8; expected limits of different names, for example "rpm=60/minute; inflight=8", or in a file ["rpm=60/minute", "inflight=8"]
        hint: leave it out to keep the default, ""
    "#]],
    );
    check_file(
        "threads = ['1']",
        expect![[r#"
        error: t.toml:1: threads cannot be ["1"]; expected a whole number from 0 to 1024
        hint: leave it out to keep the default, 0
    "#]],
    );
    check(
        Said { env: &[("TIDEGATE_LEDGER_DEFAULT_LIMITS", "['rpm=3/day']")], ..Said::default() },
        expect![[r#"
            error: TIDEGATE_LEDGER_DEFAULT_LIMITS: ledger.default_limits cannot be "['rpm=3/day']"; expected limits of different names, for example "rpm=60/minute; inflight=8", or in a file ["rpm=60/minute", "inflight=8"]
            hint: leave it out to keep the default, ""
        "#]],
    );
}

#[test]
fn a_print_out_loads_as_what_was_printed() {
    let file = "data_dir = 'a \"quoted\" dir'\n[limits]\ndefault_burst = 1\ndefault_rate = 2\ndefault_period = 3\n\
                [keys]\nwhen_full = 'admit'\n[msgpack]\nenabled = false\n\
                [ledger]\ndefault_limits = ['rpm=3/day', 'inflight=8']";
    let loaded = Said { file, ..Said::default() }.load().unwrap();
    let printed = print::toml(&loaded);
    let again = Said { file: &printed, ..Said::default() }.load().unwrap();
    assert_eq!(again.config, loaded.config);
    assert_ne!(again.config, Config::default());
}

#[test]
fn a_secret_is_printed_nowhere() {
    let loaded = Said { file: "auth_token = 'hunter2'", ..Said::default() }.load().unwrap();
    assert_eq!(loaded.config.auth_token.expose(), Some("hunter2"));
    let shown =
        [print::toml(&loaded), print::json(&loaded), print::summary(&loaded), format!("{:?}", loaded.config)];
    for text in shown {
        assert!(!text.contains("hunter2"), "{text}");
    }
    // What stands for it must not become the token of whoever saves the print-out.
    let again = Said { file: &print::toml(&loaded), ..Said::default() }.load().unwrap();
    assert_eq!(again.config.auth_token.expose(), None);
}

#[test]
fn a_shared_table_has_rules_of_its_own() {
    check_file(
        "[ledger]\nkind = 'dynamodb'\ntable = 'a b'\nendpoint = '127.0.0.1:8000'\nrequest_timeout_ms = 3000\n\
         advertise = 'me'\n[queue]\nenabled = false",
        expect![[r#"
            error: ledger.kind is "dynamodb", and queue.enabled is false
            hint: set queue.enabled to true: leases and queues stay with their server, in data_dir
            error: ledger.table is "a b", which DynamoDB does not take as the name of a table
            hint: a name has 3 to 255 letters, digits, `_`, `-` and `.`
            error: ledger.endpoint is "127.0.0.1:8000", which is no URL
            hint: write it as http://host:port or https://host:port, or leave it out to use AWS itself
            error: ledger.request_timeout_ms is 3000, longer than ledger.timeout_ms = 2000
            hint: lower the first, or raise the second: a call waits for at least one request
            error: ledger.advertise is "me", which nobody could connect to
            hint: write it as host:port of this server's RESP door, as the other servers reach it
        "#]],
    );
    // As long as nobody uses it, nothing is said of it.
    check_file(
        "[ledger]\ntable = 'a b'",
        expect![[r#"
        ok: 1 set, 72 at the default
          ledger.table = "a b"  (t.toml:2)
    "#]],
    );
    check_file(
        "[ledger]\nkind = 'dynamo'",
        expect![[r#"
        error: t.toml:2: ledger.kind cannot be "dynamo"; expected one of embedded, dynamodb
        hint: did you mean dynamodb?
    "#]],
    );
}
