//! JSON documents: what administrative calls are answered with.

use serde::de::DeserializeOwned;

use crate::Error;
use crate::resp::Reply;

/// The document in a reply.
pub(crate) fn read<T: DeserializeOwned>(reply: Reply) -> Result<T, Error> {
    let document = match &reply {
        Reply::Bulk(json) => serde_json::from_slice(json).ok(),
        _ => None,
    };
    document.ok_or(Error::protocol("a JSON document that is not as expected"))
}
