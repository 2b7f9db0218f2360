//! Files and pipes, compressed or not.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use crate::CaptureError;

/// Opens a capture file, or standard input for `-`, and decompresses gzip and zstd (recognised by the first
/// bytes, not by the name).
///
/// # Errors
/// Those of the system.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, CaptureError> {
    if path == Path::new("-") { decompressed(io::stdin()) } else { decompressed(File::open(path)?) }
}

/// `input`, decompressed if it is gzip or zstd.
///
/// # Errors
/// Those of `input`.
pub fn decompressed(mut input: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, CaptureError> {
    let mut begins = Vec::new();
    // A pipe may return fewer bytes than requested.
    input.by_ref().take(4).read_to_end(&mut begins)?;
    let kind = begins.clone();
    let whole = BufReader::with_capacity(1 << 17, Cursor::new(begins).chain(input));
    Ok(match *kind {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        // A frame (RFC 8878 §3.1.1), or a skippable one (§3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Box::new(Zstd::new(whole)),
        _ => Box::new(whole),
    })
}

/// All frames of a zstd stream, one after the other.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

/// Memory for the window of a zstd frame: as `zstd --ultra --long=27` needs, the most that decoders must
/// accept by default.
const ZSTD_WINDOW: u64 = 128 << 20;

impl<R: io::BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        Self { source, decoder, in_frame: false }
    }

    /// Begins the next frame; false at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(e) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {e}"))),
            }
        }
    }
}

impl<R: io::BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame && self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if self.in_frame && !self.decoder.is_finished() {
                let step = ruzstd::decoding::BlockDecodingStrategy::UptoBlocks(1);
                self.decoder
                    .decode_blocks(&mut self.source, step)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {e}")))?;
                continue;
            }
            self.in_frame = self.next_frame()?;
            if !self.in_frame {
                return Ok(0);
            }
        }
    }
}
