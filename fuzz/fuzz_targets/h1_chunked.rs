//! Chunked bodies: whole and in pieces they must decode to the same bytes and trailers, and what was decoded must
//! survive being encoded and decoded again.
//!
//! The first byte is the size of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico_http::h1::{
    CHUNK_END, ChunkEvent, ChunkedDecoder, HeadLimits, HeadParser, write_chunk_size, write_last_chunk,
};

/// Data, trailers, and whether the end was reached; or the reason of an error.
type Outcome = Result<(Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>, bool), &'static str>;

fuzz_target!(|data: &[u8]| {
    let Some((step, bytes)) = data.split_first() else {
        return;
    };
    let whole = decode(bytes, bytes.len().max(1));
    assert_eq!(decode(bytes, usize::from(*step).max(1)), whole);
    if let Ok((data, trailers, true)) = whole {
        let mut encoded = Vec::new();
        for chunk in data.chunks(usize::from(*step).max(1)) {
            write_chunk_size(&mut encoded, chunk.len() as u64);
            encoded.extend_from_slice(chunk);
            encoded.extend_from_slice(CHUNK_END);
        }
        let lines: Vec<u8> = trailers
            .iter()
            .flat_map(|(name, value)| [name, &b": "[..], value, &b"\r\n"[..]].concat())
            .collect();
        write_last_chunk(&mut encoded, &lines);
        assert_eq!(decode(&encoded, encoded.len()), Ok((data, trailers, true)));
    }
});

fn decode(bytes: &[u8], step: usize) -> Outcome {
    let limits = HeadLimits { max_header_size: 512, ..HeadLimits::default() };
    let (mut decoder, mut parser) = (ChunkedDecoder::new(), HeadParser::new());
    let (mut data, mut at, mut end) = (Vec::new(), 0, 0);
    while end < bytes.len() {
        end = bytes.len().min(end + step);
        loop {
            let input = &bytes[at..end];
            let (consumed, event) =
                decoder.decode(input, &mut parser, &limits).map_err(|error| error.code.reason())?;
            assert!(consumed <= input.len());
            at += consumed;
            match event {
                ChunkEvent::Data(range) => {
                    assert!(!range.is_empty() && range.end <= consumed);
                    data.extend_from_slice(&input[range]);
                }
                ChunkEvent::NeedMore => break,
                ChunkEvent::Done => {
                    let trailers = parser.fields().iter();
                    let trailers =
                        trailers.map(|field| (field.name(input).to_vec(), field.value(input).to_vec()));
                    return Ok((data, trailers.collect(), true));
                }
            }
        }
    }
    Ok((data, Vec::new(), false))
}
