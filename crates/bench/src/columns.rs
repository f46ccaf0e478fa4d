//! Text in columns.

/// Columns as wide as their widest cell; those that are all figures lean right.
pub fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    // A line that is cut short ends in a note, which may be longer than any column.
    let full = |line: &&Vec<String>| line.len() == columns;
    let cell_len = |line: &Vec<String>, at: usize| line.get(at).map_or(0, |cell| cell.chars().count());
    let width = |at: usize| {
        let all = lines.iter().filter(|line| full(line) || at < line.len() - 1);
        all.map(|line| cell_len(line, at)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let right: Vec<bool> =
        (0..columns).map(|at| lines.iter().skip(1).filter(full).all(|line| is_number(&line[at]))).collect();
    let mut text = String::new();
    for line in lines {
        let last = line.len() - 1;
        for (at, cell) in line.iter().enumerate() {
            let width = widths[at];
            match (right[at] && line.len() == columns, at == last) {
                (true, _) => text.push_str(&format!("{cell:>width$}")),
                (false, true) => text.push_str(cell),
                (false, false) => text.push_str(&format!("{cell:<width$}")),
            }
            text.push_str(if at == last { "\n" } else { "  " });
        }
    }
    text
}

fn is_number(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_lean_right_and_a_short_line_ends_in_a_note() {
        let lines =
            [vec!["who", "ops"], vec!["a", "1,000"], vec!["longer", "7"], vec!["a note that is long"]];
        let lines = lines.map(|line| line.into_iter().map(str::to_string).collect());
        assert_eq!(align(&lines), "who       ops\na       1,000\nlonger      7\na note that is long\n");
    }
}
