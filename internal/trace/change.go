package trace

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// change makes an operation that changes the log.
func (w *world) change(ctx context.Context, op *Op) (any, error) {
	switch l := w.log; op.Op {
	case "append":
		return w.append(op)
	case "startVerification":
		return w.verify(op)
	case "roll":
		base, err := w.roll(op)
		return answer[int64]{"base": base}, err
	case "flush":
		return empty{}, l.Sync(or(op.UpTo, l.EndOffset()))
	case "takeProducerSnapshot":
		return empty{}, l.TakeSnapshot()
	case "setHighWatermark":
		return w.setHighWatermark(op)
	case "incrementLogStart":
		moved, err := l.DeleteBefore(op.Offset)
		return answer[bool]{"moved": moved}, err
	case "truncateTo":
		truncated, err := l.Truncate(op.Offset)
		return answer[bool]{"truncated": truncated}, err
	case "truncateFully":
		return empty{}, l.Reset(op.Offset, or(op.LogStart.n, op.Offset))
	case "retention":
		d, err := l.Retain(ctx)
		return answer[int]{"deleted": d.Segments}, err
	case "updateConfig":
		c, err := w.configure(op.Config)
		if err != nil {
			return nil, err
		}
		return empty{}, l.Configure(c)
	case "assignEpoch":
		return empty{}, l.AssignEpoch(op.Epoch, op.Offset)
	}
	return nil, fmt.Errorf("trace: operation %q is not known", op.Op)
}

// answer is one with a single field.
type answer[T any] map[string]T

// appended is the answer to append.
type appended struct {
	FirstOffset       int64  `json:"firstOffset"`
	LastOffset        int64  `json:"lastOffset"`
	LastLeaderEpoch   int32  `json:"lastLeaderEpoch"`
	MaxTimestamp      int64  `json:"maxTimestamp"`
	LogAppendTime     int64  `json:"logAppendTime"`
	LogStartOffset    int64  `json:"logStartOffset"`
	SourceCompression string `json:"sourceCompression"`
	ValidBytes        int64  `json:"validBytes"`
	NumMessages       int64  `json:"numMessages"`
	Converted         int    `json:"converted"`
	Appended          bool   `json:"appended"`
}

// origins are the names of those who append.
var origins = map[string]log.Origin{
	"": log.FromClient, "CLIENT": log.FromClient, "COORDINATOR": log.FromCoordinator, "RAFT_LEADER": log.FromRaftLeader,
}

func (w *world) append(op *Op) (any, error) {
	records, err := hex.DecodeString(op.Records)
	if err != nil {
		return nil, err
	}
	before := w.log.EndOffset()
	var a log.Appended
	if op.As == "leader" {
		a, err = w.log.AppendWith(records, log.AppendOptions{
			LeaderEpoch: op.Epoch, Origin: origins[op.Origin],
			TxnVersion: log.TxnVersion(or(op.Version, -1) + 1), Guard: w.guard(op.Guard),
		})
	} else {
		a, err = w.log.AppendAssigned(records, op.Epoch)
	}
	if err != nil {
		return nil, err
	}
	messages := int64(0)
	if a.BaseOffset >= 0 && a.LastOffset >= 0 {
		messages = a.LastOffset - a.BaseOffset + 1
	}
	return appended{
		FirstOffset: a.BaseOffset, LastOffset: a.LastOffset, LastLeaderEpoch: a.LeaderEpoch,
		MaxTimestamp: a.MaxTimestamp, LogAppendTime: a.AppendTimestamp, LogStartOffset: a.StartOffset,
		SourceCompression: compressionName(a.Compression), ValidBytes: a.Bytes, NumMessages: messages,
		Converted: a.Converted, Appended: w.log.EndOffset() != before,
	}, nil
}

// compressionName is Kafka's name of a compression.
func compressionName(c codec.Compression) string {
	return []string{"none", "gzip", "snappy", "lz4", "zstd"}[c]
}

// guard is the one with a name, or none.
func (w *world) guard(name string) log.Guard {
	for g, n := range w.guards {
		if n == name {
			return g
		}
	}
	return 0
}

func (w *world) verify(op *Op) (any, error) {
	g, err := w.log.StartVerification(op.Producer, int16(op.Epoch), op.Sequence, op.Rises)
	if err != nil {
		return nil, err
	}
	if g == 0 {
		return answer[string]{"guard": "none"}, nil
	}
	if w.guards[g] == "" {
		w.guards[g] = fmt.Sprintf("g%d", len(w.guards)+1)
	}
	return answer[string]{"guard": w.guards[g]}, nil
}

// roll rolls. In Kafka a caller may ask for a base offset above the end; none of the traces does.
func (w *world) roll(op *Op) (base int64, err error) {
	if op.Expected > w.log.EndOffset() {
		return 0, fmt.Errorf("trace: a roll to %d, above the end", op.Expected)
	}
	return w.log.Roll()
}

func (w *world) setHighWatermark(op *Op) (any, error) {
	switch op.Mode {
	case "", "update":
		at, _ := w.log.SetHighWatermark(op.Offset)
		return answer[int64]{"hw": at}, nil
	case "follower":
		at, moved := w.log.SetHighWatermark(op.Offset)
		if !moved {
			at = codec.NoOffset
		}
		return answer[int64]{"new": at}, nil
	case "increment":
		was, moved, err := w.log.RaiseHighWatermark(op.Offset)
		if !moved {
			was = codec.NoOffset
		}
		return answer[int64]{"old": was}, err
	}
	return nil, fmt.Errorf("trace: mode %q is not known", op.Mode)
}
