package log

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// indexFiles looks for indexes that are missing, and for space that is reserved.
func (v *verifier) indexFiles(s *segment.Segment, r *segmentReport) error {
	offsets, times := s.IndexBytes()
	for _, x := range []struct {
		extension string
		code      FindingCode
		used      int64
	}{{segment.IndexExt, CodeIndex, offsets}, {segment.TimeIndexExt, CodeTimeIndex, times}} {
		name := v.fileOf(r, x.extension)
		info, err := v.fsys.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.missing(name, x.extension == segment.TimeIndexExt && r.old)
		case fsio.NotAFile(err) || err == nil && info.IsDir():
			if v.o.Base != nil { // otherwise the directory is looked through for such
				r.add(notAFile(name))
			}
		case err != nil:
			return err
		case r.wrong[name] == nil && info.Size() > x.used:
			r.counts.Files++
			v.reserved(r, x.code, name, x.used, info.Size())
		default:
			r.counts.Files++
		}
	}
	return nil
}

// notAFile is the finding about something that has the name of a file of the log.
func notAFile(name string) Finding {
	return Finding{
		Severity: SeverityWarning, Code: CodeForeign, File: name, Position: -1,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: "it has the name of a file of the log, and is none", Repair: MendNone, Err: fsio.ErrNotRegular,
	}
}

// missing tells of an index that is not there. Old ones have never been.
func (r *segmentReport) missing(name string, old bool) {
	f := Finding{
		Severity: SeverityWarning, Code: CodeIndexMissing, File: name, Position: -1,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: "there is none", Repair: MendReindex, Err: &fs.PathError{Op: "verify", Path: name, Err: fs.ErrNotExist},
	}
	if old {
		f.Severity, f.Message = SeverityInfo, "there is none, as in Kafka up to 0.10.0"
	}
	r.add(f)
}

// reserved tells of the zeros behind the last entry of an index. A log that is in use, or was not stopped
// cleanly, has them in its last segment. Elsewhere Kafka takes them for entries (KAFKA-19200).
func (v *verifier) reserved(r *segmentReport, code FindingCode, name string, used, size int64) {
	f := Finding{
		Severity: SeverityWarning, Code: code, File: name, Position: used, Size: size - used,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: fmt.Sprintf("%d bytes are reserved behind the last entry, which a clean stop cuts off", size-used),
		Repair:  MendReindex, Err: &fsio.PosError{Op: "verify", Path: name, Pos: used, Err: index.ErrCorrupt},
	}
	inUse := !v.resume.Clean || v.o.Resume == nil // a log that was opened alone keeps its clean mark up to the first change
	if r.next == codec.NoOffset && inUse {
		f.Severity, f.Repair, f.Err = SeverityInfo, MendNone, nil
	}
	r.add(f)
}
