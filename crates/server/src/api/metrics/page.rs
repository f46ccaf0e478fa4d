//! The page that Prometheus reads: text, version 0.0.4.

use std::fmt::{Display, Write};

use super::Histogram;

/// Metrics in families, each explained once.
pub struct Page {
    pub(super) text: String,
    family: &'static str,
}

impl Default for Page {
    fn default() -> Page {
        Page { text: String::with_capacity(8 * 1024), family: "" }
    }
}

impl Page {
    /// Opens a family.
    pub fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// A family of one sample.
    pub fn single(&mut self, name: &'static str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    /// A sample of the family that was opened last.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.sample_of("", labels, value);
    }

    /// All samples of a histogram.
    pub fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        let mut total = 0;
        for (bound, count) in histogram.cumulative() {
            let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
            self.sample_of("_bucket", &[labels, &[("le", &bound)]].concat(), count);
            total = count;
        }
        self.sample_of("_sum", labels, histogram.sum_s());
        self.sample_of("_count", labels, total);
    }

    fn sample_of(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let name = self.family;
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name}{suffix} {value}\n")),
            false => self.line(format_args!("{name}{suffix}{{{}}} {value}\n", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.text.write_fmt(line).is_err() {
            unreachable!("a String takes whatever is written to it");
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}
