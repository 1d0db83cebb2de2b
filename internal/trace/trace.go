package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Trace is a recorded run.
type Trace struct {
	Meta  Meta
	Ops   []Op
	Want  []Line
	Final []File
	Files map[string][]byte // at the end; nil where the trace has none
}

// Meta says what a trace is, and how to compare.
type Meta struct {
	Format    int    `json:"format"`
	Name      string `json:"name"`
	About     string `json:"about"`
	Profile   string `json:"profile"`
	Compare   string `json:"compare"`   // bytes, or decoded
	Snapshots string `json:"snapshots"` // bytes, or entries: in any order
	Quirk     string `json:"quirk"`     // why a difference may be accepted
	Ops       int    `json:"ops"`
}

// format is the version of the traces' format.
const format = 1

// decoded says that the log compressed data itself: records are compared, not bytes.
func (m Meta) decoded() bool { return m.Compare == "decoded" }

// entries says that the order of the entries in producer snapshots is left open.
func (m Meta) entries() bool { return m.Snapshots == "entries" }

// Line is what Kafka answered to an operation.
type Line struct {
	Result map[string]any `json:"r"`
	Error  *Refusal       `json:"error"`
	Short  map[string]any `json:"s"` // while a log is open
	Data   string         `json:"data"`
	Dir    string         `json:"dir"`
}

// Refusal is an error as Kafka names it.
type Refusal struct {
	Class       string `json:"class"`
	Cause       string `json:"cause"`
	Records     []int  `json:"records"`
	FirstOffset *int64 `json:"firstOffset"`
	LastOffset  *int64 `json:"lastOffset"`
}

// Read reads the trace in the directory dir.
func Read(fsys fs.FS, dir string) (*Trace, error) {
	t := &Trace{}
	meta, err := fs.ReadFile(fsys, path.Join(dir, "meta.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(meta, &t.Meta); err != nil {
		return nil, fmt.Errorf("%s/meta.json: %w", dir, err)
	}
	if t.Meta.Format != format {
		return nil, fmt.Errorf("%s/meta.json: format %d is not %d", dir, t.Meta.Format, format)
	}
	if t.Ops, err = readLines[Op](fsys, path.Join(dir, "ops.jsonl")); err != nil {
		return nil, err
	}
	if t.Want, err = readLines[Line](fsys, path.Join(dir, "expect.jsonl")); err != nil {
		return nil, err
	}
	if len(t.Ops) != len(t.Want) {
		return nil, fmt.Errorf("%s: %d operations and %d answers", dir, len(t.Ops), len(t.Want))
	}
	final, err := fs.ReadFile(fsys, path.Join(dir, "final.tsv"))
	if err != nil {
		return nil, err
	}
	if t.Final, err = parseListing(string(final)); err != nil {
		return nil, fmt.Errorf("%s/final.tsv: %w", dir, err)
	}
	t.Files, err = readArchive(fsys, path.Join(dir, "files.tar.gz"))
	return t, err
}

// readLines reads a file of JSON objects, one a line, or name.gz. Numbers stay as they are written.
func readLines[T any](fsys fs.FS, name string) ([]T, error) {
	data, err := readMaybeZipped(fsys, name)
	if err != nil {
		return nil, err
	}
	var all []T
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		var line T
		if err := d.Decode(&line); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, len(all)+1, err)
		}
		all = append(all, line)
	}
	return all, lines.Err()
}

// readMaybeZipped reads a file, or else name.gz.
func readMaybeZipped(fsys fs.FS, name string) ([]byte, error) {
	data, err := fs.ReadFile(fsys, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	zipped, err := fs.ReadFile(fsys, name+".gz")
	if err != nil {
		return nil, err
	}
	return unzip(name, zipped)
}

// unzip unpacks what gzip packed.
func unzip(name string, zipped []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, fmt.Errorf("%s.gz: %w", name, err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s.gz: %w", name, err)
	}
	return data, nil
}

// parseListing reads lines of name, size and CRC.
func parseListing(text string) ([]File, error) {
	var all []File
	for line := range strings.Lines(text) {
		var f File
		if _, err := fmt.Sscanf(line, "%s\t%d\t%s\n", &f.Name, &f.Size, &f.CRC); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// ReadAll reads the trace that is fsys, or else the traces in the directories of fsys.
func ReadAll(fsys fs.FS) ([]*Trace, error) {
	if _, err := fs.Stat(fsys, "meta.json"); err == nil {
		t, err := Read(fsys, ".")
		return []*Trace{t}, err
	}
	found, err := fs.Glob(fsys, "*/meta.json")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no traces: %w", fs.ErrNotExist)
	}
	all := make([]*Trace, 0, len(found))
	for _, name := range found {
		t, err := Read(fsys, path.Dir(name))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
