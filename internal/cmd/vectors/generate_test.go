package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
)

// TestMakeLogs: the same seed makes the same logs, of all formats, which the codec can read.
func TestMakeLogs(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	var out bytes.Buffer
	for _, dir := range []string{first, second} {
		require.Zero(t, run([]string{"-make", dir, "-seed", "7"}, &out, &out), out.String())
	}
	for magic, compressions := range []int{4, 4, 5} {
		name := filepath.Join("magic"+string(rune('0'+magic)), "00000000000000000000.log")
		log, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(second, name))
		require.NoError(t, err)
		require.Equal(t, log, again)

		seen := map[codec.Compression]bool{}
		next := int64(0)
		for batch, err := range codec.Batches(codec.Kafka(), log) {
			require.NoError(t, err)
			seen[batch.Attributes.Compression()] = true
			for r, err := range codec.Kafka().Records(batch.Bytes) {
				require.NoError(t, err)
				require.GreaterOrEqual(t, r.Offset, next)
				next = r.Offset + 1
			}
		}
		require.Len(t, seen, compressions)
	}
}

// TestCompareLog compares a log that Kafka wrote with what it read, and with something else.
func TestCompareLog(t *testing.T) {
	dir := fixture.Golden(t, "0.10.2.2/high-offsets")
	log := filepath.Join(dir, "data", "00000000003000000000.log")
	all := filepath.Join(dir, "expected", "records.jsonl")
	lines, err := os.ReadFile(all)
	require.NoError(t, err)
	var own []byte
	for line := range bytes.Lines(lines) {
		if bytes.Contains(line, []byte(`"segment":3000000000,`)) {
			own = append(own, line...)
		}
	}
	records := write(t, own)
	var out bytes.Buffer
	require.Zero(t, run([]string{"-log", log, records}, &out, &out), out.String())
	require.Contains(t, out.String(), "differences=0")

	out.Reset()
	require.Equal(t, 1, run([]string{"-log", log, all}, &out, &out))
	require.Contains(t, out.String(), "differences=1")

	require.Equal(t, 2, run([]string{"-log", log}, &out, &out))
	require.Equal(t, 2, run([]string{"-log", log, log}, &out, &out))
	require.Equal(t, 2, run([]string{"-log", filepath.Join(dir, "missing"), records}, &out, &out))
	require.Equal(t, 2, run([]string{"-what"}, &out, &out))
}
