package conformance

import (
	"time"

	"github.com/stratalog/strata/codec"
)

// CompressorRows are the rows of TestCompressor.
func CompressorRows() (rows []Row) {
	for _, r := range compressorRows {
		rows = append(rows, Row{Name: r.name, Rule: r.rule})
	}
	return rows
}

// TryCompressor runs the row of that name on z, and returns what it found wrong.
func TryCompressor(name string, z codec.Compressor, limit time.Duration) (failures []string) {
	for _, r := range compressorRows {
		if r.name == name {
			failures = r.try(z, limit).failures
		}
	}
	return failures
}

// CodecRows are the rows of TestCodec.
func CodecRows() (rows []Row) {
	for _, r := range codecRows() {
		rows = append(rows, Row{Name: r.name, Rule: r.rule})
	}
	return rows
}

// TryCodec runs the row of that name on k, and returns what it found wrong.
func TryCodec(name string, k codec.Codec, limit time.Duration) (failures []string) {
	for _, r := range codecRows() {
		if r.name == name {
			failures = r.try(newCodecSubject(k), limit).failures
		}
	}
	return failures
}
