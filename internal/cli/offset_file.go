package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/internal/checkpoint"
)

// maxOffsetFileBytes bounds a file of offsets: it has some 100 bytes a partition.
const maxOffsetFileBytes = 64 << 20

// target is a partition's directory, and an offset for it.
type target struct {
	dir    string
	offset int64
}

// offsetFile is the file that kafka-delete-records takes.
type offsetFile struct {
	Version    *int32 `json:"version"` // 1, also where it is missing
	Partitions []struct {
		Topic     string `json:"topic"`
		Partition *int32 `json:"partition"`
		Offset    *int64 `json:"offset"`
	} `json:"partitions"`
}

// What is wrong with a file of offsets.
var (
	errIsDir  = errors.New("it is a directory")
	errEmpty  = errors.New("it is empty")
	errBehind = errors.New("something follows the object")
)

// readTargets reads the file of offsets name, for partitions of the log directory dir. No offset is below
// least.
func readTargets(name, dir string, least int64) ([]target, error) {
	var f offsetFile
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--offset-json-file: %s does not exist", name)
	}
	if err := readOffsetFile(name, &f); err != nil {
		return nil, usagef("%s: %v: give {\"partitions\":[{\"topic\":\"orders\",\"partition\":0,\"offset\":42}],\"version\":1}", name, err)
	}
	if f.Version != nil && *f.Version != 1 {
		return nil, usagef("%s is of version %d, and only 1 is known", name, *f.Version)
	}
	if len(f.Partitions) == 0 {
		return nil, usagef("%s names no partition", name)
	}
	var targets []target
	seen := map[checkpoint.Partition]bool{}
	for i, p := range f.Partitions {
		switch {
		case p.Topic == "" || p.Partition == nil || p.Offset == nil:
			return nil, usagef("%s: entry %d has not all of topic, partition and offset", name, i+1)
		case *p.Partition < 0 || *p.Offset < least:
			return nil, usagef("%s: entry %d: partition %d, offset %d: give a partition from 0 and an offset from %d on", name, i+1, *p.Partition, *p.Offset, least)
		case seen[checkpoint.Partition{Topic: p.Topic, ID: *p.Partition}]:
			return nil, usagef("%s: %s-%d is in it twice", name, p.Topic, *p.Partition)
		case filepath.Base(p.Topic) != p.Topic:
			return nil, usagef("%s: entry %d: no topic has the name %q", name, i+1, p.Topic)
		}
		seen[checkpoint.Partition{Topic: p.Topic, ID: *p.Partition}] = true
		targets = append(targets, target{filepath.Join(dir, fmt.Sprintf("%s-%d", p.Topic, *p.Partition)), *p.Offset})
	}
	for _, t := range targets {
		if _, err := os.Stat(t.dir); err != nil {
			return nil, usagef("%s: there is no directory %s", name, t.dir)
		}
	}
	return targets, nil
}

// readOffsetFile reads the file name into f.
func readOffsetFile(name string, f *offsetFile) error {
	at, err := openPlace(name)
	if err != nil {
		return err
	}
	defer func() { _ = at.fsys.Close() }() // nothing was written
	if at.isDir() {
		return errIsDir
	}
	text, err := checkpoint.ReadFile(at.fsys, at.name, maxOffsetFileBytes)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(f); {
	case errors.Is(err, io.EOF):
		return errEmpty
	case err != nil:
		return plainly(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errBehind
	}
	return nil
}
