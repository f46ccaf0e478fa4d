//! Fields that hold a JSON document as text, in messages that are JSON documents themselves: there the document stands as
//! it is. An empty text is `null`, and a field that may be absent is absent then.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A text, or one that may be absent.
pub trait Text: Sized {
    /// Of this document; nothing for `null`.
    fn of(document: Option<String>) -> Self;
    /// The text, if there is one.
    fn text(&self) -> Option<&str>;
}

impl Text for String {
    fn of(document: Option<String>) -> String {
        document.unwrap_or_default()
    }

    fn text(&self) -> Option<&str> {
        Some(self.as_str()).filter(|text| !text.is_empty())
    }
}

impl Text for Option<String> {
    fn of(document: Option<String>) -> Option<String> {
        document
    }

    fn text(&self) -> Option<&str> {
        self.as_deref()
    }
}

/// Writes the document that the text is.
pub fn serialize<S: Serializer, T: Text>(text: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let document: Option<Value> =
        text.text().map(serde_json::from_str).transpose().map_err(serde::ser::Error::custom)?;
    document.serialize(serializer)
}

/// Reads a document as text.
pub fn deserialize<'de, D: Deserializer<'de>, T: Text>(deserializer: D) -> Result<T, D::Error> {
    let document = Option::<Value>::deserialize(deserializer)?;
    Ok(T::of(document.map(|document| document.to_string())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::transport::grpc::v1;

    #[test]
    fn a_document_is_text_and_the_text_a_document() {
        let document = json!({"seq": 1, "at_ms": 2, "actor": "a", "action": "b", "subject": "c",
            "before": null, "after": {"limits": []}});
        let event: v1::AuditEvent = serde_json::from_value(document.clone()).unwrap();
        assert_eq!((event.before.as_str(), event.after.as_str()), ("", r#"{"limits":[]}"#));
        assert_eq!(serde_json::to_value(&event).unwrap(), document);
        let put = v1::PutEntity { metadata: Some("{".to_owned()), ..Default::default() };
        assert!(serde_json::to_value(&put).is_err());
    }
}
