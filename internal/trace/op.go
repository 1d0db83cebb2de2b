package trace

import (
	"encoding/hex"
	"encoding/json"
)

// Op is an operation. What it does not name is nil, or the zero value.
type Op struct {
	Op string `json:"op"`

	// Opening and closing.
	Config              map[string]string `json:"config"`
	Now                 *int64            `json:"now"`
	Clean               *bool             `json:"clean"`
	RecoveryPoint       stored            `json:"recoveryPoint"`
	LogStart            stored            `json:"logStart"`
	TxnTimeoutMs        *int64            `json:"maxTransactionTimeoutMs"`
	ExpireMs            *int64            `json:"producerIdExpirationMs"`
	ExpireCheckMs       *int64            `json:"producerIdExpirationCheckIntervalMs"`
	VerifyTransactions  bool              `json:"transactionVerification"`
	TopicID             string            `json:"topicId"`
	Milliseconds        int64             `json:"ms"`
	File, From, To, Hex string
	At, Size            int64

	// Writing.
	As       string `json:"as"`
	Epoch    int32  `json:"epoch"`
	Origin   string `json:"origin"`
	Version  *int   `json:"tv"`
	Guard    string `json:"guard"`
	Records  string `json:"records"`
	Producer int64  `json:"pid"`
	Sequence int32  `json:"seq"`
	Rises    bool   `json:"epochBump"`
	Expected int64  `json:"expected"`
	UpTo     *int64 `json:"upTo"`
	Mode     string `json:"mode"`
	Offset   int64  `json:"offset"`

	// Reading.
	MaxBytes  *int64 `json:"maxBytes"`
	MinOne    bool   `json:"minOne"`
	Isolation string `json:"isolation"`
	Timestamp int64  `json:"ts"`
	Start     int64  `json:"start"`
}

// stored is a number, or "stored": what the log said of itself when it was closed.
type stored struct{ n *int64 }

// UnmarshalJSON reads one or the other.
func (s *stored) UnmarshalJSON(b []byte) error {
	if string(b) == `"stored"` {
		return nil
	}
	return json.Unmarshal(b, &s.n)
}

// later reports whether the operation is one that this package cannot replay yet: compaction.
func (o *Op) later() bool { return o.Op == "clean" || o.Op == "cleanRound" }

// bytes are those that an operation of damage writes.
func (o *Op) bytes() ([]byte, error) { return hex.DecodeString(o.Hex) }

// or is *p, or otherwise where there is none.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
