package log

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stratalog/strata/internal/checkpoint"
)

// readTopicID compares partition.metadata with Options.TopicID. One that is not there is written before the
// first append.
func (l *Log) readTopicID() error {
	if l.o.TopicID == [16]byte{} {
		return nil
	}
	id, err := checkpoint.ReadTopicID(l.fsys, l.path(checkpoint.PartitionMetadata))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if l.topicID = !l.o.ReadOnly; l.topicID {
			l.later("flush-metadata-file", 0, l.flushTopicID)
		}
		return nil
	case err != nil:
		return err
	case id != l.o.TopicID:
		return fmt.Errorf("%s has %s, not %s: %w",
			l.path(checkpoint.PartitionMetadata), checkpoint.FormatID(id), checkpoint.FormatID(l.o.TopicID), ErrTopicID)
	}
	return nil
}

// writeTopicID writes partition.metadata where it is still to be written. The caller holds mu.
func (l *Log) writeTopicID() error {
	if !l.topicID {
		return nil
	}
	if err := checkpoint.WriteTopicID(l.fsys, l.path(checkpoint.PartitionMetadata), l.o.TopicID); err != nil {
		return l.failWrite(err)
	}
	l.topicID = false
	return nil
}

// flushTopicID writes partition.metadata, if no append has done so yet.
func (l *Log) flushTopicID() {
	l.mu.Lock()
	defer l.unlock()
	if l.writable() == nil {
		l.report("partition.metadata", l.writeTopicID())
	}
}
