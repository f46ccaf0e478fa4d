//! Usage as CSV: the columns of the HTTP door.

use tidegate_client::UsageRow;

/// A line of heads, and one for each row. Names have neither commas nor quotes, except those of throttle keys.
pub fn text(rows: &[UsageRow]) -> String {
    let mut text = "window_start_ms,entity,resource,limit,amount,events\n".to_owned();
    for row in rows {
        let UsageRow { entity, resource, limit, window_start_ms, amount, events } = row;
        let [entity, resource, limit] = [entity, resource, limit].map(|name| cell(name));
        text += &format!("{window_start_ms},{entity},{resource},{limit},{amount},{events}\n");
    }
    text
}

fn cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_a_row_is_quoted() {
        let row = UsageRow {
            entity: "a,\"b\"".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: "tpm".to_owned(),
            window_start_ms: 60_000,
            amount: -5,
            events: 2,
        };
        let expected =
            "window_start_ms,entity,resource,limit,amount,events\n60000,\"a,\"\"b\"\"\",gpt-4,tpm,-5,2\n";
        assert_eq!(text(&[row]), expected);
    }
}
