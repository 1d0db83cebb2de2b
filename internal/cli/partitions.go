package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/manager"
)

// title names a partition as Kafka's tools do, topic:partition, or by its path where it has no such name.
func (p *partition) title() string {
	if p.name.topic == nil {
		return p.path
	}
	return fmt.Sprintf("%s:%d", *p.name.topic, *p.name.id)
}

// eachPartition calls do for each partition that the directories name: a partition's, or a log directory,
// which stands for all its partitions that are in service. Behind one that fails it goes on with the others.
func (e *env) eachPartition(ctx context.Context, dirs []string, do func(*partition) error) error {
	return each(ctx, e, dirs, func(dir string) error {
		paths, err := partitionsOf(ctx, dir)
		if err != nil {
			return err
		}
		return each(ctx, e, paths, func(path string) error { return onPartition(path, do) })
	})
}

// onPartition calls do for the partition in the directory path.
func onPartition(path string, do func(*partition) error) error {
	p, err := openPartition(path)
	if err != nil {
		return err
	}
	return errors.Join(do(p), p.close())
}

// partitionsOf are the paths of the partitions in service of the log directory dir, or, where it is none, dir.
func partitionsOf(ctx context.Context, dir string) (paths []string, err error) {
	at, err := openPlace(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.fsys.Close()) }()
	if !at.isDir() || holdsSegments(at.fsys) {
		return []string{dir}, nil
	}
	v, err := manager.OpenView(ctx, at.fsys)
	if err != nil {
		return nil, err
	}
	for _, p := range v.Partitions() {
		if p.Role == manager.Current {
			paths = append(paths, filepath.Join(dir, p.Dir))
		}
	}
	if len(paths) == 0 {
		return []string{dir}, nil // which openPartition refuses, with a word about it
	}
	return paths, nil
}

// holdsSegments reports whether the root of fsys is a partition's directory.
func holdsSegments(fsys fsio.FS) bool {
	bases, odd, err := segmentsIn(fsys, ".")
	return err == nil && len(bases)+len(odd) > 0
}
