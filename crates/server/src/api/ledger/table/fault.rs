//! What callers are told when the table does not do its part.

use tidegate_dynamodb::Fault;

use crate::api::{Code, Refusal};

/// A fault as a refusal: with the words of the fault, and its next step.
pub fn refusal(fault: &Fault) -> Refusal {
    let code = match fault {
        Fault::Unavailable { .. } | Fault::Throttled(_) | Fault::Conflict(_) => Code::StoreUnavailable,
        Fault::Deleted(name) => return Refusal::namespace_deleted(name),
        Fault::NoNamespace(_) => Code::NamespaceNotFound,
        _ => Code::StorageFault,
    };
    let (what, hint) = words(fault);
    Refusal::new(code, what, hint)
}

/// What went wrong, and what to do about it.
pub fn words(fault: &Fault) -> (String, String) {
    match fault {
        Fault::Unavailable { what, .. } => {
            let what = format!("DynamoDB did not answer: {}", gist(what));
            (what, "check ledger.endpoint, ledger.region and the network".to_owned())
        }
        Fault::Denied(what) if what.contains("credentials") => {
            let what = format!("no credentials for DynamoDB were found: {}", gist(what));
            let hint = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role; an \
                        emulator is named by ledger.endpoint and needs none";
            (what, hint.to_owned())
        }
        Fault::Bug(what) if what.contains("match the schema") => {
            let what = "it has other keys than PK and SK: something else is in it".to_owned();
            (what, "name another table, or make one with `tidegate dynamodb create-table`".to_owned())
        }
        fault => {
            let told = fault.to_string();
            match told.rsplit_once("; ") {
                Some((what, hint)) => (what.to_owned(), hint.to_owned()),
                None => (told, "look at the table with `tidegate dynamodb status`".to_owned()),
            }
        }
    }
}

/// The last of the reasons of the SDK, which tells each one's kind before it.
fn gist(what: &str) -> &str {
    let kinds = ["(Connect): ", "error: ", "loading credentials: "];
    let end = kinds.iter().filter_map(|kind| Some(what.rfind(kind)? + kind.len())).max();
    &what[end.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fault: &Fault, expected: [&str; 2]) {
        let (what, hint) = words(fault);
        assert_eq!(what, expected[0]);
        assert!(hint.contains(expected[1]), "{hint}");
    }

    #[test]
    fn every_fault_has_a_next_step() {
        let refused = "dispatch failure: io error: client error (Connect): tcp connect error: Connection refused (os error 111)";
        let unavailable = Fault::Unavailable { what: refused.to_owned(), unsure: true };
        check(
            &unavailable,
            ["DynamoDB did not answer: Connection refused (os error 111)", "ledger.endpoint"],
        );
        let nobody =
            "dispatch failure: other: an error occurred while loading credentials: no providers in chain";
        let denied = Fault::Denied(nobody.to_owned());
        check(&denied, ["no credentials for DynamoDB were found: no providers in chain", "AWS_PROFILE"]);
        check(&Fault::NoTable("limits".to_owned()), ["there is no table `limits`", "create-table"]);
        let schema = "ValidationException: The provided key element does not match the schema";
        let other = Fault::Bug(schema.to_owned());
        check(&other, ["it has other keys than PK and SK: something else is in it", "create-table"]);
        let codes = [unavailable, Fault::Deleted("a".to_owned()), Fault::NoNamespace("a".to_owned())]
            .map(|fault| refusal(&fault).code());
        assert_eq!(codes, [Code::StoreUnavailable, Code::NamespaceDeleted, Code::NamespaceNotFound]);
    }
}
