package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unpack unpacks some traces into a directory.
func unpack(t *testing.T, names ...string) string {
	t.Helper()
	z, err := zip.OpenReader("../../trace/testdata/traces.zip")
	require.NoError(t, err)
	defer z.Close()
	dir := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		for _, file := range []string{"meta.json", "ops.jsonl", "expect.jsonl", "final.tsv"} {
			f, err := z.Open(name + "/" + file)
			require.NoError(t, err)
			var b bytes.Buffer
			_, err = b.ReadFrom(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.NoError(t, os.WriteFile(filepath.Join(dir, name, file), b.Bytes(), 0o644))
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := unpack(t, "001-append-offsets", "031-flush-and-recovery-point", "038-compaction-basic")
	var out, errs bytes.Buffer
	assert.Equal(t, 0, run(t.Context(), []string{"-parts", "mem+file,os+mmap", dir}, &out, &errs))
	assert.Empty(t, errs.String())
	for _, parts := range []string{"mem+file", "os+mmap"} {
		assert.Regexp(t, `(?m)^quirk parts=\Q`+parts+`\E 031-flush-and-recovery-point: `, out.String())
		assert.Regexp(t, `(?m)^RESULT parts=\Q`+parts+`\E traces=3 pass=1 quirk=1 skipped=1 ops=\d+$`, out.String())
	}
}

func TestRunDiffers(t *testing.T) {
	dir := unpack(t, "001-append-offsets")
	name := filepath.Join(dir, "001-append-offsets", "final.tsv")
	require.NoError(t, os.WriteFile(name, []byte("a\t1\tb\n"), 0o644))
	var out bytes.Buffer
	assert.Equal(t, 1, run(t.Context(), []string{"-parts", "mem+file", filepath.Dir(name)}, &out, &out))
	assert.Contains(t, out.String(), "FAIL parts=mem+file 001-append-offsets: at the end: ")
	assert.Contains(t, out.String(), "RESULT parts=mem+file traces=1 pass=0 quirk=0 skipped=0 ")
}

func TestRunWrongly(t *testing.T) {
	for _, args := range [][]string{{}, {"-parts", "tape", "."}, {t.TempDir()}, {"-x"}} {
		var out bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), args, &out, &out), "%v", args)
		assert.NotEmpty(t, out.String())
	}
}
