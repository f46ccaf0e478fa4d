//! The form in which every benchmark hands on what it measured.

use serde::{Serialize, Serializer};

/// Which system did what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Who was measured, as its users call it.
    pub system: &'static str,
    /// Under which load. Systems with the same workload compare.
    pub workload: String,
}

impl Series {
    /// The series of that system under that workload.
    pub fn new(system: &'static str, workload: impl Into<String>) -> Series {
        Series { system, workload: workload.into() }
    }
}

/// One run of one series. What does not apply is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Operations answered in a second.
    pub ops_per_s: Option<f64>,
    /// User and system time of the server process per operation.
    pub cpu_us_per_op: Option<f64>,
    /// Half of the answers came within this time.
    pub p50_us: Option<f64>,
    /// All but one answer in a hundred came within this time.
    pub p99_us: Option<f64>,
    /// Resident memory of the server process after the run.
    #[serde(serialize_with = "whole")]
    pub rss_bytes: Option<f64>,
    /// All but one answer in a thousand came within this time. In no row: for a target.
    #[serde(skip)]
    pub p999_us: Option<f64>,
    /// The longest that anything took. In no row: a maximum is for a target, not for comparing.
    #[serde(skip)]
    pub longest_us: Option<f64>,
    /// The same without the time in which the machine ran something else. In no row, as above.
    #[serde(skip)]
    pub longest_own_us: Option<f64>,
    /// What the server took for a request by its own account, at the most. In no row, as above.
    #[serde(skip)]
    pub longest_decision_us: Option<f64>,
    /// Growth of resident memory over the number of keys, messages or flows. In no row: `rss_bytes` is there.
    #[serde(skip)]
    pub rss_per_key: Option<f64>,
    /// Share of one core that the server used while nothing was asked of it. In no row, as above.
    #[serde(skip)]
    pub idle_share: Option<f64>,
    /// Operations beyond what a limit allows, at the worst moment; negative when there were none. In no row, as above.
    #[serde(skip)]
    pub excess_ops: Option<f64>,
    /// Calls to the table per operation. This and those below are only in rows of what has a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_op: Option<f64>,
    /// Of which `UpdateItem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates_per_op: Option<f64>,
    /// Write units per operation, without usage and audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_units_per_op: Option<f64>,
    /// Write units of usage and audit per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_units_per_op: Option<f64>,
    /// Share of the operations that was admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_share: Option<f64>,
    /// Share of the operations that was not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_share: Option<f64>,
    /// Share of what a limit allows from a full bucket on that was admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_share: Option<f64>,
    /// Share of what comes in the second half of the time that was admitted in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustained_share: Option<f64>,
}

/// One figure out of [`Figures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the field of the same name")]
pub enum Metric {
    OpsPerS,
    CpuUsPerOp,
    P50Us,
    P99Us,
    RssBytes,
    P999Us,
    LongestUs,
    LongestOwnUs,
    LongestDecisionUs,
    RssPerKey,
    IdleShare,
    ExcessOps,
    CallsPerOp,
    UpdatesPerOp,
    WriteUnitsPerOp,
    FlushUnitsPerOp,
    GrantedShare,
    RefusedShare,
    UsedShare,
    SustainedShare,
}

impl Metric {
    /// All that [`Figures`] holds.
    pub const ALL: [Metric; 20] = [
        Metric::OpsPerS,
        Metric::CpuUsPerOp,
        Metric::P50Us,
        Metric::P99Us,
        Metric::RssBytes,
        Metric::P999Us,
        Metric::LongestUs,
        Metric::LongestOwnUs,
        Metric::LongestDecisionUs,
        Metric::RssPerKey,
        Metric::IdleShare,
        Metric::ExcessOps,
        Metric::CallsPerOp,
        Metric::UpdatesPerOp,
        Metric::WriteUnitsPerOp,
        Metric::FlushUnitsPerOp,
        Metric::GrantedShare,
        Metric::RefusedShare,
        Metric::UsedShare,
        Metric::SustainedShare,
    ];

    /// Reads it.
    pub fn of(self, figures: &Figures) -> Option<f64> {
        *self.field(&mut { *figures })
    }

    /// Where it is kept.
    pub fn field(self, figures: &mut Figures) -> &mut Option<f64> {
        match self {
            Metric::OpsPerS => &mut figures.ops_per_s,
            Metric::CpuUsPerOp => &mut figures.cpu_us_per_op,
            Metric::P50Us => &mut figures.p50_us,
            Metric::P99Us => &mut figures.p99_us,
            Metric::RssBytes => &mut figures.rss_bytes,
            Metric::P999Us => &mut figures.p999_us,
            Metric::LongestUs => &mut figures.longest_us,
            Metric::LongestOwnUs => &mut figures.longest_own_us,
            Metric::LongestDecisionUs => &mut figures.longest_decision_us,
            Metric::RssPerKey => &mut figures.rss_per_key,
            Metric::IdleShare => &mut figures.idle_share,
            Metric::ExcessOps => &mut figures.excess_ops,
            Metric::CallsPerOp => &mut figures.calls_per_op,
            Metric::UpdatesPerOp => &mut figures.updates_per_op,
            Metric::WriteUnitsPerOp => &mut figures.write_units_per_op,
            Metric::FlushUnitsPerOp => &mut figures.flush_units_per_op,
            Metric::GrantedShare => &mut figures.granted_share,
            Metric::RefusedShare => &mut figures.refused_share,
            Metric::UsedShare => &mut figures.used_share,
            Metric::SustainedShare => &mut figures.sustained_share,
        }
    }
}

/// One line of the table, and one object of the JSON file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which benchmark: `ask`, `queue`.
    pub bench: &'static str,
    /// Who did what.
    #[serde(flatten)]
    pub series: Series,
    /// The median of each figure over the repeats.
    #[serde(flatten)]
    pub figures: Figures,
    /// Why there are no figures. In the table only: the JSON row has nulls.
    #[serde(skip)]
    pub gap: Option<String>,
}

/// Bytes are a median of whole numbers, and whole in the file.
fn whole<S: Serializer>(figure: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    figure.map(|figure| figure.round() as u64).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_row_has_exactly_the_agreed_fields() {
        let figures = Figures {
            ops_per_s: Some(1.5),
            rss_bytes: Some(4096.0),
            longest_us: Some(9.0),
            ..Figures::default()
        };
        let row = Row { bench: "ask", series: Series::new("redis", "incr"), figures, gap: None };
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"bench":"ask","system":"redis","workload":"incr","ops_per_s":1.5,"cpu_us_per_op":null,"p50_us":null,"p99_us":null,"rss_bytes":4096}"#
        );
    }
}
