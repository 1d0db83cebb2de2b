package conformance

import "github.com/stratalog/strata/codec"

// CompressorRows are the rows of TestCompressor.
func CompressorRows() []Row { return rowsOf(compressorRows) }

// TryCompressor runs the row of that name on z.
func TryCompressor(name string, z codec.Compressor) Outcome { return tryRow(compressorRows, name, z) }

// CodecRows are the rows of TestCodec.
func CodecRows() []Row { return rowsOf(codecRows()) }

// TryCodec runs the row of that name on k.
func TryCodec(name string, k codec.Codec) Outcome {
	return tryRow(codecRows(), name, newCodecSubject(k))
}
