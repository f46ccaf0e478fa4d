//! A message as it travels: one byte that says whether it is compressed, four that say its length, and itself.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use tonic::Status;

use crate::api::Refusal;

const HEAD_BYTES: usize = 5;

/// Reads the one message of a unary request.
pub fn read<M: Message + Default>(mut body: Bytes) -> Result<M, Status> {
    if body.len() < HEAD_BYTES {
        return Err(malformed("the call brings no message"));
    }
    if body.get_u8() != 0 {
        return Err(Status::unimplemented(
            "compressed messages cannot be read; send them without compression",
        ));
    }
    if body.get_u32() as usize != body.len() {
        return Err(malformed("the call does not bring exactly one message"));
    }
    M::decode(body).map_err(|error| malformed(error.to_string()))
}

/// Writes the one message of a unary response.
pub fn write(message: &impl Message) -> Bytes {
    let len = message.encoded_len();
    let mut out = BytesMut::with_capacity(HEAD_BYTES + len);
    out.put_u8(0);
    // A response is never near 4 GiB: it is a few times the size of a bounded request.
    out.put_u32(len as u32);
    message.encode_raw(&mut out);
    out.freeze()
}

/// The same of a message that is written by hand.
pub fn write_by(fill: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::with_capacity(512);
    out.put_bytes(0, HEAD_BYTES);
    fill(&mut out);
    let len = (out.len() - HEAD_BYTES) as u32;
    out[1..HEAD_BYTES].copy_from_slice(&len.to_be_bytes());
    out.freeze()
}

fn malformed(message: impl Into<std::borrow::Cow<'static, str>>) -> Status {
    Refusal::invalid_request(message, "make the client from the .proto files, or by reflection").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::grpc::v1::ThrottleRequest;

    #[test]
    fn what_is_written_is_read() {
        let request =
            ThrottleRequest { key: Bytes::from_static(b"\xff\0"), period: Some(-1), ..Default::default() };
        assert_eq!(read::<ThrottleRequest>(write(&request)).unwrap(), request);
        assert_eq!(write(&ThrottleRequest::default()), &[0; 5][..]);
        assert_eq!(write_by(|out| request.encode_raw(out)), write(&request));
    }

    #[test]
    fn anything_else_is_refused() {
        use tonic::Code::{InvalidArgument, Unimplemented};
        let cases: [(&[u8], tonic::Code); 8] = [
            (b"", InvalidArgument),
            (b"\0\0\0\0", InvalidArgument),
            (b"\x01\0\0\0\0", Unimplemented),
            (b"\0\0\0\0\x01", InvalidArgument),
            (b"\0\xff\xff\xff\xff", InvalidArgument),
            (b"\0\0\0\0\0\0\0\0\0\0", InvalidArgument),
            // A field cut short, and a field of another type.
            (b"\0\0\0\0\x02\x0a\x05", InvalidArgument),
            (b"\0\0\0\0\x03\x12\x01\0", InvalidArgument),
        ];
        for (body, code) in cases {
            assert_eq!(
                read::<ThrottleRequest>(Bytes::from_static(body)).unwrap_err().code(),
                code,
                "{body:?}"
            );
        }
    }
}
