package trace

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
)

// decode is the number of lines, and the digest, of the canonical text of the whole batches in b.
func decode(b []byte) (lines int64, digest string, err error) {
	var text strings.Builder
	for len(b) > 0 {
		h, err := codec.Kafka().Header(b)
		if err != nil || h.Size > len(b) {
			break
		}
		n, err := decodeBatch(&text, h, b[:h.Size])
		if err != nil {
			return 0, "", err
		}
		lines += n
		b = b[h.Size:]
	}
	return lines, checksum([]byte(text.String())), nil //nolint:nilerr // the last batch may be none, or no whole one
}

// decodeBatch writes the lines of one batch.
func decodeBatch(text *strings.Builder, h codec.Header, batch []byte) (lines int64, err error) {
	base, err := firstOffset(batch)
	if err != nil {
		return 0, err
	}
	horizon, ok := h.DeleteHorizon()
	if !ok {
		horizon = -1
	}
	a := h.Attributes
	fmt.Fprintf(text, "B %d %d %d %d %d %d %d %d %d %d %d %d %d\n", base, h.LastOffset, h.LeaderEpoch, h.Magic,
		a.Compression(), bit(a.LogAppendTime()), h.MaxTimestamp, h.ProducerID, h.ProducerEpoch, h.BaseSequence,
		bit(a.Transactional()), bit(a.Control()), horizon)
	lines = 1
	for r, err := range codec.Kafka().Records(batch) {
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(text, "R %d %d %s %s", r.Offset, r.Timestamp, hexOrNull(r.Key), hexOrNull(r.Value))
		for _, header := range r.Headers {
			fmt.Fprintf(text, " %x=%s", header.Key, hexOrNull(header.Value))
		}
		text.WriteByte('\n')
		lines++
	}
	return lines, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hexOrNull is b in hex, or a dash where it is null.
func hexOrNull(b []byte) string {
	if b == nil {
		return "-"
	}
	return hex.EncodeToString(b)
}

// decodeLogs puts the lines and the digests of their text in the place of the sizes and the CRCs of .log
// files.
func (w *world) decodeLogs(files []File) ([]File, error) {
	for i := range files {
		f := &files[i]
		if !strings.HasSuffix(f.Name, ".log") {
			continue
		}
		b, err := readFile(w.FS, w.path(f.Name))
		if err != nil {
			return nil, err
		}
		if f.Size, f.CRC, err = decode(b[:w.sizeOf(f.Name, int64(len(b)))]); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return files, nil
}

// decodeDeleted does so with logs that are named .deleted, of which final.tsv has the sizes and the CRCs of Kafka's
// payloads: theirs are decoded, too, where the trace has them, and otherwise only the names are compared.
func (w *world) decodeDeleted(files, want []File, kafkas map[string][]byte) (ours, theirs []File, err error) {
	ours, theirs = slices.Clone(files), slices.Clone(want)
	for _, side := range []struct {
		files []File
		read  func(name string) ([]byte, error)
	}{
		{ours, func(name string) ([]byte, error) { return readFile(w.FS, w.path(name)) }},
		{theirs, func(name string) ([]byte, error) { return kafkas[name], nil }},
	} {
		for i := range side.files {
			f := &side.files[i]
			if !strings.HasSuffix(f.Name, ".log.deleted") {
				continue
			}
			if f.Size, f.CRC = 0, ""; kafkas[f.Name] == nil {
				continue
			}
			b, err := side.read(f.Name)
			if err != nil {
				return nil, nil, err
			}
			if f.Size, f.CRC, err = decode(b); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return ours, theirs, nil
}
