//! The OpenAPI document, written by hand beside the code it describes. Its tests hold it to the table of paths, to
//! the fields that are parsed and sent, and to the codes of refusals.

/// OpenAPI 3.1, as `GET /openapi.json` serves it.
pub const DOCUMENT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    use serde_json::{Value, from_str};
    use tidegate_core::{Decision, Wait};

    use super::*;
    use crate::api::{Code, Refusal};
    use crate::transport::http::parse::{self, Shape, parse};
    use crate::transport::http::{encode, route};

    fn document() -> Value {
        from_str(DOCUMENT).unwrap()
    }

    fn properties(schema: &str) -> BTreeSet<String> {
        let properties = document()["components"]["schemas"][schema]["properties"].take();
        properties.as_object().unwrap_or_else(|| panic!("{schema}")).keys().cloned().collect()
    }

    fn keys(object: &Value) -> BTreeSet<String> {
        object.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn it_is_of_this_version() {
        assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn every_path_is_documented_and_every_documented_path_is_there() {
        let documented = document()["paths"].take();
        let documented: BTreeSet<(String, String)> = documented
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| keys(methods).into_iter().map(|method| (path.clone(), method)))
            .collect();
        let routed = route::TABLE.iter().map(|row| (row.path.to_owned(), row.method.as_str().to_lowercase()));
        assert_eq!(documented, routed.collect());
    }

    #[test]
    fn every_field_that_is_parsed_is_documented() {
        assert_eq!(properties("Throttle"), parsed::<parse::Throttle>());
        assert_eq!(properties("Batch"), parsed::<parse::Batch>());
        assert_eq!(properties("Reset"), parsed::<parse::Reset>());
    }

    /// The fields of a shape, out of what it says about a field that it does not have.
    fn parsed<'a, T: Shape<'a> + Debug>() -> BTreeSet<String> {
        let refusal = parse::<T>(br#"{"?":0}"#).unwrap_err();
        let (_, expected) = refusal.message().split_once("expected").unwrap();
        expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn every_field_that_is_sent_is_documented() {
        let decision =
            Decision { allowed: true, limit: 1, remaining: 1, reset_after_ns: 0, retry_after: Wait::Now };
        let sent = |json: Vec<u8>| serde_json::from_slice::<Value>(&json).unwrap();
        assert_eq!(properties("Decision"), keys(&sent(encode::decision(&decision))));
        assert_eq!(properties("Results"), keys(&sent(encode::Results::with_capacity(0).finish())));
        let refusal = sent(encode::refusal(&Refusal::table_full()));
        assert_eq!(properties("Refusal"), keys(&refusal));
        let error =
            document()["components"]["schemas"]["Refusal"]["properties"]["error"]["properties"].take();
        assert_eq!(keys(&error), keys(&refusal["error"]));
    }

    #[test]
    fn every_code_is_documented() {
        let error = document()["components"]["schemas"]["Refusal"]["properties"]["error"].take();
        let documented: Vec<Value> = error["properties"]["code"]["enum"].as_array().unwrap().clone();
        assert_eq!(documented, Code::ALL.map(|code| Value::from(code.as_str())));
    }

    #[test]
    fn examples_of_requests_are_requests() {
        let document = document();
        let throttle =
            &document["components"]["requestBodies"]["Throttle"]["content"]["application/json"]["examples"];
        for example in throttle.as_object().unwrap().values() {
            parse::<parse::Throttle>(example["value"].to_string().as_bytes()).unwrap();
        }
        let body = |path: &str| {
            document["paths"][path]["post"]["requestBody"]["content"]["application/json"].clone()
        };
        parse::<parse::Batch>(body("/throttle/batch")["example"].to_string().as_bytes()).unwrap();
        for example in body("/throttle/reset")["examples"].as_object().unwrap().values() {
            parse::<parse::Reset>(example["value"].to_string().as_bytes()).unwrap().keys().unwrap();
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn check(value: &Value, document: &Value) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        let target = reference.strip_prefix('#').and_then(|path| document.pointer(path));
                        assert!(target.is_some(), "{reference}");
                    }
                    fields.values().for_each(|value| check(value, document));
                }
                Value::Array(values) => values.iter().for_each(|value| check(value, document)),
                _ => {}
            }
        }
        check(&document(), &document());
    }
}
