package cli

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// The objects of -o json, one a line. Their fields are an interface: they are added to, never changed.

// batchLine is a batch.
type batchLine struct {
	Type          string `json:"type"` // batch
	File          string `json:"file"`
	Position      int64  `json:"position"`
	Size          int    `json:"size"`
	BaseOffset    int64  `json:"baseOffset"`
	LastOffset    int64  `json:"lastOffset"`
	Count         int    `json:"count"`
	Magic         int8   `json:"magic"`
	Compression   string `json:"compression"`
	TimestampType string `json:"timestampType"`
	BaseTimestamp int64  `json:"baseTimestamp"`
	MaxTimestamp  int64  `json:"maxTimestamp"`
	ProducerID    int64  `json:"producerId"`
	ProducerEpoch int16  `json:"producerEpoch"`
	BaseSequence  int32  `json:"baseSequence"`
	LastSequence  int32  `json:"lastSequence"`
	LeaderEpoch   int32  `json:"partitionLeaderEpoch"`
	Transactional bool   `json:"isTransactional"`
	Control       bool   `json:"isControl"`
	DeleteHorizon *int64 `json:"deleteHorizonMs"`
	CRC           uint32 `json:"crc"`
	CRCOK         bool   `json:"crcOk"`
}

// newBatchLine is the line of the batch with the header h at position pos of file.
func newBatchLine(file string, pos int64, h codec.Header, valid bool) batchLine {
	line := batchLine{
		Type: "batch", File: file, Position: pos, Size: h.Size,
		BaseOffset: h.BaseOffset, LastOffset: h.LastOffset, Count: h.Count, Magic: h.Magic,
		Compression: h.Attributes.Compression().String(), TimestampType: timestampType(h),
		BaseTimestamp: h.BaseTimestamp, MaxTimestamp: h.MaxTimestamp,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
		BaseSequence: h.BaseSequence, LastSequence: h.LastSequence(), LeaderEpoch: h.LeaderEpoch,
		Transactional: h.Attributes.Transactional(), Control: h.Attributes.Control(),
		CRC: h.CRC, CRCOK: valid,
	}
	if ms, ok := h.DeleteHorizon(); ok {
		line.DeleteHorizon = &ms
	}
	return line
}

// recordLine is a record. It is what append reads, too.
type recordLine struct {
	Type          string       `json:"type"` // record
	Topic         *string      `json:"topic"`
	Partition     *int32       `json:"partition"`
	Offset        int64        `json:"offset"`
	Timestamp     *int64       `json:"timestamp"`
	TimestampType string       `json:"timestampType"`
	Key           *string      `json:"key"`
	KeyEncoding   string       `json:"keyEncoding"`
	Value         *string      `json:"value"`
	ValueEncoding string       `json:"valueEncoding"`
	Headers       []headerLine `json:"headers"`
	ProducerID    int64        `json:"producerId"`
	ProducerEpoch int16        `json:"producerEpoch"`
	Sequence      int32        `json:"sequence"`
	LeaderEpoch   int32        `json:"leaderEpoch"`
	Control       *controlLine `json:"control"`
}

// headerLine is a header of a record.
type headerLine struct {
	Key      *string `json:"key"`
	Value    *string `json:"value"`
	Encoding string  `json:"encoding"`
}

// controlLine says what a control record is.
type controlLine struct {
	Type             string `json:"type"`
	CoordinatorEpoch *int32 `json:"coordinatorEpoch,omitempty"`
}

// newRecordLine is the line of r, which is in a batch with the header h of the partition p.
func newRecordLine(p partitionName, h codec.Header, r codec.Record) recordLine {
	line := recordLine{
		Type: "record", Topic: p.topic, Partition: p.id,
		Offset: r.Offset, Timestamp: &r.Timestamp, TimestampType: timestampType(h),
		Headers:    make([]headerLine, len(r.Headers)),
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
		Sequence: sequence(h, r.Offset), LeaderEpoch: h.LeaderEpoch,
	}
	line.Key, line.KeyEncoding = encodeBytes(r.Key)
	line.Value, line.ValueEncoding = encodeBytes(r.Value)
	for i, header := range r.Headers {
		key := string(header.Key)
		line.Headers[i].Key = &key
		line.Headers[i].Value, line.Headers[i].Encoding = encodeBytes(header.Value)
	}
	if h.Attributes.Control() {
		line.Control = newControlLine(r)
	}
	return line
}

// newControlLine says what the control record r is.
func newControlLine(r codec.Record) *controlLine {
	kind, err := codec.ReadControl(r.Key)
	if err != nil {
		kind = codec.ControlUnknown
	}
	line := &controlLine{Type: controlName(kind)}
	if kind == codec.ControlAbort || kind == codec.ControlCommit {
		if marker, err := codec.ReadMarker(r); err == nil {
			line.CoordinatorEpoch = &marker.CoordinatorEpoch
		}
	}
	return line
}

// findingLine is something that is not as it should be.
type findingLine struct {
	Type     string   `json:"type"` // finding
	Severity string   `json:"severity"`
	Code     string   `json:"code"`
	File     string   `json:"file"`
	Position int64    `json:"position"` // −1: the whole file
	Offsets  [2]int64 `json:"offsets"`  // the first concerned, and the one behind the last; −1 where nothing tells
	Message  string   `json:"message"`
	Repair   string   `json:"repair"`
	SeekTo   int64    `json:"seekTo"` // where a reader goes on; −1 where there is nothing to skip
}

// newFindingLine is the line of f.
func newFindingLine(f log.Finding) findingLine {
	return findingLine{
		Type: "finding", Severity: f.Severity.String(), Code: string(f.Code), File: f.File, Position: f.Position,
		Offsets: [2]int64{f.FirstOffset, f.NextOffset}, Message: f.Message, Repair: string(f.Repair), SeekTo: f.SeekTo,
	}
}

// jsonLines writes values to w, one a line, as they are: without escapes for HTML.
func jsonLines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// encodeBytes is b as a JSON string, and how it is one: as utf8, or, where it is not UTF-8, as base64. Of
// nil it is null.
func encodeBytes(b []byte) (s *string, encoding string) {
	switch {
	case b == nil:
		return nil, "null"
	case utf8.Valid(b):
		text := string(b)
		return &text, "utf8"
	}
	text := base64.StdEncoding.EncodeToString(b)
	return &text, "base64"
}

// sequence is that of the record at offset in a batch with the header h.
func sequence(h codec.Header, offset int64) int32 {
	if h.BaseSequence < 0 {
		return codec.NoSequence
	}
	return codec.NextSequence(h.BaseSequence, int(offset-h.BaseOffset))
}

// timestampType is Kafka's word for whose time the records of a batch have.
func timestampType(h codec.Header) string {
	switch {
	case h.Magic == 0:
		return "NoTimestampType"
	case h.Attributes.LogAppendTime():
		return "LogAppendTime"
	}
	return "CreateTime"
}

// controlName is Kafka's word for a kind of control record.
func controlName(kind codec.ControlType) string {
	names := map[codec.ControlType]string{
		codec.ControlAbort: "ABORT", codec.ControlCommit: "COMMIT", codec.ControlLeaderChange: "LEADER_CHANGE",
		codec.ControlSnapshotHeader: "SNAPSHOT_HEADER", codec.ControlSnapshotFooter: "SNAPSHOT_FOOTER",
		codec.ControlKRaftVersion: "KRAFT_VERSION", codec.ControlKRaftVoters: "KRAFT_VOTERS",
	}
	if name, ok := names[kind]; ok {
		return name
	}
	return "UNKNOWN"
}
