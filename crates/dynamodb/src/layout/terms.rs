//! The limits of a level, as attributes of one item.
//!
//! | attribute | means |
//! |---|---|
//! | `l_{n}_cp`, `l_{n}_ra`, `l_{n}_rp` | a rate: whole tokens, whole tokens, seconds; others read it |
//! | `t_{n}` | its text, where these numbers alone do not tell how it was set |
//! | `c_{n}` | a cap on concurrency |
//! | `s_{n}` | the text of a limit that is ours alone: see [`limit`] |
//! | `limit_order` | the names in the order in which they were set, unless that is the order of the alphabet |

use std::collections::BTreeMap;

use tidegate_core::ledger::{Bound, Term};

use super::attribute::{Item, number, number_of, text, text_of};
use super::limit::{self, Stored};

const ORDER: &str = "limit_order";

/// What others keep with a limit that is not understood here, and what it is.
const STRANGE: [(&str, &str); 4] = [
    ("sched", "a schedule"),
    ("rsched", "a calendar quota"),
    ("rsa", "a session window"),
    ("soft", "zae-limiter's own soft limit"),
];

/// Whether an attribute is about a limit.
pub fn is_about_limits(name: &str) -> bool {
    name == ORDER || ["l_", "t_", "c_", "s_", "w_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Writes limits into an item.
pub fn put(terms: &[Term], item: &mut Item) {
    for term in terms {
        let name = &term.name;
        if let Some(stored) = limit::shared(term) {
            item.insert(format!("l_{name}_cp"), number(stored.capacity));
            item.insert(format!("l_{name}_ra"), number(stored.amount));
            item.insert(format!("l_{name}_rp"), number(stored.period_s));
            if stored.limit().map(Bound::Rate) != Some(term.bound) {
                item.insert(format!("t_{name}"), text(term.to_string()));
            }
            continue;
        }
        match term.bound {
            Bound::Concurrency(cap) if !term.soft => item.insert(format!("c_{name}"), number(cap)),
            _ => item.insert(format!("s_{name}"), text(term.to_string())),
        };
    }
    if !terms.is_sorted_by(|a, b| a.name <= b.name) {
        let names: Vec<&str> = terms.iter().map(|term| &*term.name).collect();
        item.insert(ORDER.into(), text(names.join(",")));
    }
}

/// Reads the limits of an item. What is not understood is told, and none of the level's limits are read then: to leave one
/// out would be to admit what it forbids.
pub fn read(item: &Item) -> Result<Vec<Term>, String> {
    let mut found = BTreeMap::new();
    let mut names: Vec<&String> = item.keys().filter(|name| is_about_limits(name)).collect();
    names.sort_unstable();
    for attribute in names {
        let Some((kind, rest)) = attribute.split_at_checked(2) else { continue };
        let term = match kind {
            "l_" => match rest.strip_suffix("_cp") {
                Some(name) => rate(item, name)?,
                None => {
                    check_field(item, rest)?;
                    continue;
                }
            },
            "w_" => return Err(format!("`{attribute}` belongs to a session window")),
            "c_" => cap(item, attribute, rest)?,
            "s_" => own(item, attribute, rest)?,
            _ => continue,
        };
        let name = term.name.clone();
        if found.insert(name.clone(), term).is_some() {
            return Err(format!("limit `{name}` is there in two forms"));
        }
    }
    Ok(ordered(found, text_of(item, ORDER).unwrap_or_default()))
}

fn ordered(mut found: BTreeMap<Box<str>, Term>, order: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = order.split(',').filter_map(|name| found.remove(name)).collect();
    terms.extend(found.into_values());
    terms
}

fn rate(item: &Item, name: &str) -> Result<Term, String> {
    for (field, what) in STRANGE {
        if item.get(&format!("l_{name}_{field}")).is_some_and(|value| value.as_bool() != Ok(&false)) {
            return Err(format!("limit `{name}` has {what}"));
        }
    }
    let field = |field| number_of::<u64>(item, &format!("l_{name}_{field}"));
    let (Some(capacity), Some(amount), Some(period_s)) = (field("cp"), field("ra"), field("rp")) else {
        return Err(format!("limit `{name}` lacks a whole number for its capacity, amount or period"));
    };
    let stored = Stored { capacity, amount, period_s };
    let said: Option<Term> = text_of(item, &format!("t_{name}")).and_then(|text| text.parse().ok());
    // The numbers are what others enforce: a text that says something else is out of date.
    if let Some(said) = said.filter(|said| *said.name == *name && limit::shared(said) == Some(stored)) {
        return Ok(said);
    }
    let limit = stored.limit().ok_or_else(|| {
        format!(
            "limit `{name}` has {amount} every {period_s} s, {capacity} at once, which cannot be kept exactly"
        )
    })?;
    Ok(Term { name: name.into(), bound: Bound::Rate(limit), soft: false })
}

/// A field of a limit that is found by its capacity; `bx` is of releases long gone, which nobody reads.
fn check_field(item: &Item, rest: &str) -> Result<(), String> {
    let known = rest.rsplit_once('_').is_some_and(|(name, field)| {
        let known =
            ["ra", "rp", "bx"].contains(&field) || STRANGE.iter().any(|(strange, _)| *strange == field);
        known && item.contains_key(&format!("l_{name}_cp"))
    });
    if known { Ok(()) } else { Err(format!("`l_{rest}` belongs to a limit of a later release")) }
}

fn cap(item: &Item, attribute: &str, name: &str) -> Result<Term, String> {
    let cap = number_of(item, attribute).ok_or_else(|| format!("`{attribute}` is no whole number"))?;
    Term::concurrency(name, cap).map_err(|error| format!("`{attribute}`: {error}"))
}

fn own(item: &Item, attribute: &str, name: &str) -> Result<Term, String> {
    let said = text_of(item, attribute).ok_or_else(|| format!("`{attribute}` is no text"))?;
    let term: Term = said.parse().map_err(|error| format!("`{attribute}`: {error}"))?;
    if *term.name == *name { Ok(term) } else { Err(format!("`{attribute}` tells of `{}`", term.name)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::AttributeValue;
    use proptest::prelude::*;

    fn terms(texts: &[&str]) -> Vec<Term> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn written(terms: &[Term]) -> Item {
        let mut item = Item::new();
        put(terms, &mut item);
        item
    }

    #[test]
    fn a_plain_limit_is_three_numbers() {
        let item = written(&terms(&["tpm=10000/minute,burst=20000"]));
        let expected = [("l_tpm_cp", 20_000), ("l_tpm_ra", 10_000), ("l_tpm_rp", 60)];
        assert_eq!(item, expected.map(|(name, value)| (name.into(), number(value))).into());
    }

    #[test]
    fn limits_are_read_as_they_were_written() {
        let cases: [&[&str]; 5] = [
            &[],
            &["a=1/second", "b=2/day,burst=9"],
            &["z=1/second", "a=7/1500000ns", "m=8"],
            &["wcu=5/minute", "x=1/minute,soft", "y=4,soft"],
            &["a=1/second", "a_cp=2/second", "a_cp_cp=3/second", "a.b-c=4/second"],
        ];
        for case in cases {
            assert_eq!(read(&written(&terms(case))).unwrap(), terms(case), "{case:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let plain = terms(&["tpm=10/minute", "other=1/second"]);
        let cases = [
            ("l_tpm_sched", text("v1"), "limit `tpm` has a schedule"),
            ("l_tpm_rsched", text("v1"), "limit `tpm` has a calendar quota"),
            ("l_tpm_rsa", number(5), "limit `tpm` has a session window"),
            ("l_tpm_soft", AttributeValue::Bool(true), "limit `tpm` has zae-limiter's own soft limit"),
            ("l_tpm_new", number(5), "`l_tpm_new` belongs to a limit of a later release"),
            ("w_x_cp", number(5), "`w_x_cp` belongs to a session window"),
            ("l_tpm_ra", number(0), "cannot be kept exactly"),
            ("l_tpm_rp", number("1.5"), "lacks a whole number"),
            ("l_tpm_cp", number(-1), "lacks a whole number"),
            ("c_tpm", number(5), "is there in two forms"),
            ("c_n", text("5"), "`c_n` is no whole number"),
            ("s_n", text("m=5"), "`s_n` tells of `m`"),
        ];
        for (name, value, told) in cases {
            let mut item = written(&plain);
            item.insert(name.into(), value);
            let error = read(&item).unwrap_err();
            assert!(error.contains(told), "{name}: {error}");
        }
    }

    #[test]
    fn an_attribute_of_a_release_before_is_passed_over() {
        let plain = terms(&["tpm=10/minute"]);
        let mut item = written(&plain);
        item.insert("l_tpm_bx".into(), number(99));
        item.insert("l_tpm_soft".into(), AttributeValue::Bool(false));
        assert_eq!(read(&item).unwrap(), plain);
    }

    #[test]
    fn numbers_beat_a_text_that_is_out_of_date() {
        let mut item = written(&terms(&["a=7/1500000ns"]));
        item.insert("l_a_ra".into(), number(28_000));
        assert_eq!(read(&item).unwrap(), terms(&["a=28000/3s,burst=7"]));
    }

    proptest! {
        #[test]
        fn any_limit_comes_back(
            count in 1u64..=u64::from(u32::MAX),
            period_ns in 1u64..1 << 60,
            burst in 1u64..1 << 50,
            soft: bool,
        ) {
            if let Ok(term) = Term::per("x", count, period_ns.into(), Some(burst)) {
                let terms = [term.softly(soft)];
                prop_assert_eq!(read(&written(&terms)).unwrap(), terms);
            }
        }
    }
}
