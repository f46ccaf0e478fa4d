//! Events, newest first, by subject and by time, and forgotten by age.

use crate::scene::open;
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::history::{AuditQuery, AuditRow, Retention};

const ALL: AuditQuery<'_> =
    AuditQuery { namespace: "default", subject: None, from_ms: 0, to_ms: u64::MAX, before: None, max: 100 };

fn row<'a>(subject: &'a str, at_ms: u64) -> AuditRow<'a> {
    AuditRow { namespace: "default", at_ms, subject, json: b"{}" }
}

#[test]
fn events_are_told_newest_first_and_page_by_page() {
    let history = open(&SimDisk::new(1));
    for at_ms in 0..50 {
        let other = AuditRow { namespace: "other", ..row("acme", at_ms) };
        let subject = if at_ms % 2 == 0 { "acme" } else { "$SYSTEM" };
        // Two in each millisecond.
        history.add(&[], &[row(subject, at_ms / 2), other]).unwrap();
    }
    let all = history.audit(&ALL).unwrap();
    assert_eq!(all.len(), 50);
    assert!(all.is_sorted_by(|one, next| one.seq > next.seq && one.at_ms >= next.at_ms));
    assert_eq!((&all[0].subject[..], &all[0].json[..]), ("$SYSTEM", &b"{}"[..]));

    let acme = AuditQuery { subject: Some("acme"), ..ALL };
    assert_eq!(history.audit(&acme).unwrap().len(), 25);
    assert_eq!(history.audit(&AuditQuery { subject: Some("acm"), ..ALL }).unwrap(), []);
    for query in [ALL, acme] {
        let mut paged = Vec::new();
        let mut page = AuditQuery { max: 7, ..query };
        loop {
            let events = history.audit(&page).unwrap();
            let Some(last) = events.last() else { break };
            page.before = Some(last.seq);
            paged.extend(events);
        }
        assert_eq!(paged, history.audit(&query).unwrap());
    }
    for (from_ms, to_ms) in [(0, 25), (3, 4), (7, 20), (20, 7), (24, 25), (25, 26)] {
        let events = history.audit(&AuditQuery { from_ms, to_ms, ..ALL }).unwrap();
        let expected: Vec<_> =
            all.iter().filter(|event| (from_ms..to_ms).contains(&event.at_ms)).cloned().collect();
        assert_eq!(events, expected, "{from_ms} to {to_ms}");
    }
}

#[test]
fn old_events_are_forgotten_with_their_subjects() {
    let history = open(&SimDisk::new(1));
    let rows: Vec<_> = (0..50).map(|at_ms| row("acme", at_ms)).collect();
    history.add(&[], &rows).unwrap();
    let retention = Retention { audit_ms: Some(10), ..Retention::default() };
    while history.forget(&retention, 50, 7).unwrap() {}
    for subject in [None, Some("acme")] {
        let events = history.audit(&AuditQuery { subject, ..ALL }).unwrap();
        assert_eq!((events.len(), events.last().unwrap().at_ms), (10, 40));
    }
    history.add(&[], &[row("acme", 60)]).unwrap();
    assert_eq!(history.audit(&ALL).unwrap()[0].seq, 51, "numbers are not given out again");
    while history.forget_namespace("default", 7).unwrap() {}
    for subject in [None, Some("acme")] {
        assert_eq!(history.audit(&AuditQuery { subject, ..ALL }).unwrap(), []);
    }
}
