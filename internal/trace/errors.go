package trace

import (
	"errors"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// kafkaErrors are Kafka's classes of errors, each with the sentinels one of which an error must have inside.
// Other classes are Java's.
var kafkaErrors = map[string][]error{
	"CorruptRecordException":                {codec.ErrCorrupt, codec.ErrMagic, codec.ErrShort, codec.ErrTooLarge},
	"InvalidRecordException":                {log.ErrInvalidRecord},
	"InvalidTimestampException":             {log.ErrInvalidTimestamp},
	"InvalidProducerEpochException":         {log.ErrFenced},
	"InvalidTxnStateException":              {log.ErrInvalidTxnState},
	"InconsistentTopicIdException":          {log.ErrTopicID},
	"KafkaStorageException":                 {log.ErrReadOnly, checkpoint.ErrCorrupt},
	"OffsetOutOfRangeException":             {log.ErrOffsetOutOfRange},
	"OffsetsOutOfOrderException":            {log.ErrOffsetOrder},
	"OutOfOrderSequenceException":           {log.ErrOutOfOrderSequence},
	"RecordBatchTooLargeException":          {log.ErrBatchTooLarge},
	"RecordTooLargeException":               {log.ErrRecordTooLarge},
	"RecordValidationException":             {log.ErrInvalidRecord, log.ErrInvalidTimestamp},
	"TransactionCoordinatorFencedException": {log.ErrCoordinatorFenced},
	"UnexpectedAppendOffsetException":       {log.ErrUnexpectedOffset},
	"UnsupportedCompressionTypeException":   {codec.ErrCompression},
	"UnsupportedForMessageFormatException":  {log.ErrUnsupportedFormat},
}

// isClass reports whether err is of one of Kafka's classes. Of a class of Java's every error is.
func isClass(err error, class string) bool {
	sentinels, named := kafkaErrors[class]
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return true
		}
	}
	return !named
}

// refusal is what an error tells beside its class.
func refusal(err error) (r Refusal) {
	if e, ok := errors.AsType[*codec.InvalidRecords](err); ok {
		for _, bad := range e.Records {
			r.Records = append(r.Records, bad.Index)
		}
	}
	if e, ok := errors.AsType[*log.UnexpectedOffset](err); ok {
		r.FirstOffset, r.LastOffset = &e.First, &e.Last
	}
	return r
}
