//! Limits in words.

use serde_json::json;
use tidegate_client::{Bound, CustomPage, Mode, Resolved, Scope, ScopeSettings, Term};

use crate::cli::table::{Column, age, count, facts, table};

/// What is set at one place.
pub fn settings(scope: &Scope, settings: &ScopeSettings) -> String {
    let mut rows = Vec::new();
    if let Some(mode) = settings.mode {
        rows.push(("mode", mode_in_words(mode).to_owned()));
    }
    if let Some(cascade) = settings.cascade {
        rows.push(("cascade", if cascade { "parents are charged too" } else { "no" }.to_owned()));
    }
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(on_unavailable) = settings.on_unavailable {
        rows.push(("on unavailable", word(json!(on_unavailable))));
    }
    if let Some(on_expiry) = settings.on_expiry {
        rows.push(("on expiry", word(json!(on_expiry))));
    }
    if let Some(ttl_ms) = settings.lease_ttl_ms {
        rows.push(("lease ttl", age(ttl_ms)));
    }
    let limits = match settings.limits.is_empty() {
        true => "no limits of its own: the next level applies\n".to_owned(),
        false => terms(&settings.limits),
    };
    let others = if rows.is_empty() { String::new() } else { format!("\n{}", facts(&rows)) };
    format!("{scope}\n\n{limits}{others}")
}

/// Which limits apply, and where they come from.
pub fn resolved(resolved: &Resolved) -> String {
    let from = |level: &Option<String>| match level.as_deref() {
        Some("entity") => "set for the entity on this resource",
        Some("entity_default") => "set for the entity on any resource",
        Some("resource") => "set for the resource",
        Some("system") => "set for the system",
        Some("config") => "from the server's configuration file",
        Some(_) => "set",
        None => "no level has limits",
    };
    let mode = |mode: Option<Mode>| mode.map(|mode| format!("; {}", mode_in_words(mode))).unwrap_or_default();
    let Resolved { entity, resource, level, limits, .. } = resolved;
    let mut words = format!("{entity} on {resource}: {}{}\n", from(level), mode(resolved.mode));
    if !limits.is_empty() {
        words += &format!("\n{}", terms(limits));
    }
    for parent in &resolved.parents {
        words +=
            &format!("\nand its parent {}: {}{}\n", parent.entity, from(&parent.level), mode(parent.mode));
        if !parent.limits.is_empty() {
            words += &format!("\n{}", terms(&parent.limits));
        }
    }
    words
}

/// Who has limits of their own.
pub fn custom(page: &CustomPage) -> String {
    if page.custom.is_empty() {
        return "no entity has limits of its own\n".to_owned();
    }
    let any = |resource: &str| if resource == "_default_" { "(any)" } else { resource }.to_owned();
    let rows: Vec<_> = page.custom.iter().map(|own| [own.entity.clone(), any(&own.resource)]).collect();
    let more = page
        .next
        .as_ref()
        .map(|next| format!("there may be more: --after {}/{}\n", next.entity, next.resource));
    table([Column::Left("ENTITY"), Column::Left("RESOURCE")], &rows) + &more.unwrap_or_default()
}

fn mode_in_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Disabled => "disabled: everything is refused",
        Mode::Bypass => "bypassed: everything is granted, nothing is taken",
    }
}

fn terms(terms: &[Term]) -> String {
    let columns = [Column::Left("LIMIT"), Column::Left("BOUND"), Column::Right("BURST")];
    let rows: Vec<_> = terms
        .iter()
        .map(|term| {
            let text = term.to_string();
            // Behind the name, before the burst.
            let bound =
                text.split_once('=').map_or("", |(_, rest)| rest.split(',').next().unwrap_or_default());
            let (bound, burst) = match term.bound {
                Bound::Rate { amount, burst, .. } => {
                    let period = bound.split_once('/').map_or("", |(_, period)| period);
                    (format!("{} per {period}", count(amount)), count(burst))
                }
                Bound::Concurrency(cap) => (format!("{} at once", count(cap)), "-".to_owned()),
            };
            let soft = if term.soft { ", soft" } else { "" };
            [term.name.clone(), format!("{bound}{soft}"), burst]
        })
        .collect();
    table(columns, &rows)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn limits() -> Vec<Term> {
        ["tpm=10000/minute,burst=20000", "rpd=5/day,soft", "x=5/90s", "inflight=8"]
            .map(|text| text.parse().unwrap())
            .into()
    }

    #[test]
    fn what_is_set_at_one_place() {
        let set = ScopeSettings {
            limits: limits(),
            cascade: Some(true),
            mode: Some(Mode::Bypass),
            lease_ttl_ms: Some(30_000),
            ..ScopeSettings::default()
        };
        expect![[r#"
            entity acme on gpt-4

            LIMIT     BOUND               BURST
            tpm       10,000 per minute  20,000
            rpd       5 per day, soft         5
            x         5 per 90s               5
            inflight  8 at once               -

            mode       bypassed: everything is granted, nothing is taken
            cascade    parents are charged too
            lease ttl  30.0 s
        "#]]
        .assert_eq(&settings(&Scope::entity_on("acme", "gpt-4"), &set));
        let none = settings(&Scope::System, &ScopeSettings::default());
        assert_eq!(none, "the system\n\nno limits of its own: the next level applies\n");
    }

    #[test]
    fn what_applies_and_why() {
        let found: Resolved = serde_json::from_value(json!({
            "entity": "acme/key-1", "resource": "gpt-4", "level": "resource", "limits": ["rpm=60/minute"],
            "mode": "disabled", "cascade": true,
            "parents": [{ "entity": "acme", "level": null, "limits": [], "mode": null }],
        }))
        .unwrap();
        expect![[r#"
            acme/key-1 on gpt-4: set for the resource; disabled: everything is refused

            LIMIT  BOUND          BURST
            rpm    60 per minute     60

            and its parent acme: no level has limits
        "#]]
        .assert_eq(&resolved(&found));
    }
}
