//! Aligned tables, and numbers as people read them.

use indicatif::{HumanBytes, HumanCount};

/// A column: its head, and on which side its cells stand.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// Words.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

impl Column {
    fn head(self) -> &'static str {
        match self {
            Column::Left(head) | Column::Right(head) => head,
        }
    }

    fn cell(self, text: &str, width: usize) -> String {
        match self {
            Column::Left(_) => format!("{text:<width$}"),
            Column::Right(_) => format!("{text:>width$}"),
        }
    }
}

/// A table with a line of heads.
pub fn table<const N: usize>(columns: [Column; N], rows: &[[String; N]]) -> String {
    let heads = columns.map(|column| column.head().to_owned());
    let lines = || std::iter::once(&heads).chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|at| lines().map(|line| line[at].chars().count()).max().unwrap_or(0));
    let line = |cells: &[String; N]| {
        let cells: Vec<String> = (0..N).map(|at| columns[at].cell(&cells[at], widths[at])).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    lines().map(line).collect()
}

/// Names and values, one a line.
pub fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    facts
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {value}").trim_end().to_owned() + "\n")
        .collect()
}

/// `1,234,567`
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// `1.23 MiB`
pub fn bytes(number: u64) -> String {
    HumanBytes(number).to_string()
}

/// `850 ms`, `3.2 s`, `5 min`, `3 h 20 min`, `2 d 4 h`
pub fn age(ms: u64) -> String {
    let (s, min, h) = (ms / 1_000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", s, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{min} min"),
        3_600_000..86_400_000 => format!("{h} h {} min", min % 60),
        _ => format!("{} d {} h", h / 24, h % 24),
    }
}

/// The same, or a dash where there is none.
pub fn maybe_age(ms: Option<u64>) -> String {
    ms.map_or_else(|| "-".to_owned(), age)
}

/// `12.5 %`
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["orders".to_owned(), count(1_234)], ["ä".to_owned(), count(5)]];
        expect![[r#"
            QUEUE   DEPTH
            orders  1,234
            ä           5
        "#]]
        .assert_eq(&table([Column::Left("QUEUE"), Column::Right("DEPTH")], &rows));
        expect![[r#"
            depth      1,234
            in flight  5
        "#]]
        .assert_eq(&facts(&[("depth", count(1_234)), ("in flight", count(5))]));
    }

    #[test]
    fn ages() {
        let told = [0, 999, 3_250, 59_999, 300_000, 12_000_000, 187_200_000].map(age);
        assert_eq!(told, ["0 ms", "999 ms", "3.2 s", "59.9 s", "5 min", "3 h 20 min", "2 d 4 h"]);
    }
}
