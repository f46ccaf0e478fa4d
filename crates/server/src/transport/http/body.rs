//! Taking in a request body: never more than the bound, never longer than the client's due.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::HttpDoor;
use super::patience::within;
use crate::api::Refusal;

/// The whole body of a request.
pub async fn collect(body: Incoming, door: &HttpDoor) -> Result<Bytes, Refusal> {
    let body = within(door.patience.request, bounded(body, door.max_body_bytes)).await;
    body.unwrap_or_else(|| Err(door.too_slow()))
}

/// Refuses a body that is compressed.
pub fn check_encoding(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(Refusal::unsupported_media_type(&format!("content-encoding {encoding:?}")))
        }
        _ => Ok(()),
    }
}

/// Reads to the end, or to the first byte past the bound.
async fn bounded<B>(mut body: B, max_bytes: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    // The client's own word, before any of it is read.
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(too_large(max_bytes));
    }
    let first = next(&mut body).await?.unwrap_or_default();
    if body.is_end_stream() && first.len() <= max_bytes {
        // Nearly every body came along with its head, in one piece.
        return Ok(first);
    }
    let mut whole = BytesMut::from(first);
    while let Some(more) = next(&mut body).await? {
        if whole.len() + more.len() > max_bytes {
            return Err(too_large(max_bytes));
        }
        whole.extend_from_slice(&more);
    }
    if whole.len() > max_bytes { Err(too_large(max_bytes)) } else { Ok(whole.freeze()) }
}

/// The next piece; trailers are of no use here.
async fn next<B>(body: &mut B) -> Result<Option<Bytes>, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| cut_off())?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn too_large(max_bytes: usize) -> Refusal {
    Refusal::body_too_large(max_bytes, "http.max_body_bytes")
}

fn cut_off() -> Refusal {
    let message = "the body ended too early, or is not framed as its head says";
    Refusal::invalid_request(message, "send as many bytes as Content-Length says")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;
    use crate::api::Code;

    /// A body in pieces that does not say its length, as a chunked one.
    struct Pieces(VecDeque<&'static [u8]>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(Bytes::from_static(piece)))))
        }
    }

    async fn read(pieces: &[&'static [u8]], max_bytes: usize) -> Result<Bytes, Code> {
        let pieces = Pieces(pieces.iter().copied().collect());
        bounded(pieces, max_bytes).await.map_err(|refusal| refusal.code())
    }

    #[tokio::test]
    async fn a_body_is_taken_up_to_the_bound_and_not_past_it() {
        assert_eq!(read(&[], 4).await.unwrap(), "");
        assert_eq!(read(&[b"1234"], 4).await.unwrap(), "1234");
        assert_eq!(read(&[b"12", b"", b"34"], 4).await.unwrap(), "1234");
        assert_eq!(read(&[b"12345"], 4).await, Err(Code::BodyTooLarge));
        assert_eq!(read(&[b"1234", b"5"], 4).await, Err(Code::BodyTooLarge));
    }

    #[tokio::test]
    async fn what_the_client_announces_is_refused_unread() {
        let whole = http_body_util::Full::new(Bytes::from_static(b"12345"));
        assert_eq!(bounded(whole, 4).await.unwrap_err().code(), Code::BodyTooLarge);
    }
}
