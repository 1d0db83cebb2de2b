package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
)

// TestMakeLogs: the same seed makes the same logs, which the codec can read.
func TestMakeLogs(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	var out bytes.Buffer
	for _, dir := range []string{first, second} {
		require.Zero(t, run([]string{"-make", dir, "-seed", "7"}, &out, &out), out.String())
	}
	for magic := range 3 {
		name := filepath.Join("magic"+strconv.Itoa(magic), "00000000000000000000.log")
		log, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(second, name))
		require.NoError(t, err)
		require.Equal(t, log, again)

		next := int64(0)
		for batch, err := range codec.Batches(codec.Kafka(), log) {
			require.NoError(t, err)
			for r, err := range codec.Kafka().Records(batch.Bytes) {
				require.NoError(t, err)
				require.GreaterOrEqual(t, r.Offset, next)
				next = r.Offset + 1
			}
		}
	}
}

// TestMakeLogsHaveAll looks for every format with every compression and feature.
func TestMakeLogsHaveAll(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	require.Zero(t, run([]string{"-make", dir}, &out, &out), out.String())
	for magic := range int8(3) {
		log, err := os.ReadFile(filepath.Join(dir, "magic"+strconv.Itoa(int(magic)), "00000000000000000000.log"))
		require.NoError(t, err)
		seen, batches := map[string]bool{}, 0
		for b, err := range codec.Batches(codec.Kafka(), log) {
			require.NoError(t, err)
			batches++
			for _, what := range traits(t, &b) {
				seen[what] = true
			}
		}
		require.GreaterOrEqual(t, batches, 150)
		for _, what := range wantTraits(magic) {
			require.True(t, seen[what], "magic %d: %s", magic, what)
		}
	}
}

// wantTraits are the traits that the log of a magic must have.
func wantTraits(magic int8) (all []string) {
	compressions := []string{"none", "gzip", "snappy", "lz4"}
	of := []string{"", " key=null", " key=empty", " value=null", " value=empty", " value>64KiB"}
	if magic > 0 {
		of = append(of, " append time", " no timestamp")
	}
	if magic == 2 {
		compressions = append(compressions, "zstd")
		of = append(of, " idempotent", " transactional", " horizon", " headers", " null header", " gap", " wrapped sequence")
		for _, kind := range controlNames {
			if kind != "UNKNOWN" {
				all = append(all, "2 none "+kind)
			}
		}
		all = append(all, "2 none empty", "0", "1")
	}
	for _, c := range compressions {
		for _, what := range of {
			all = append(all, strconv.Itoa(int(magic))+" "+c+what)
		}
	}
	return all
}

// traits are what a batch has, behind its magic and compression.
func traits(t *testing.T, b *codec.Batch) (all []string) {
	has := func(what string, yes bool) {
		if yes {
			all = append(all, strconv.Itoa(int(b.Magic))+" "+b.Attributes.Compression().String()+what)
		}
	}
	_, horizon := b.DeleteHorizon()
	all = append(all, strconv.Itoa(int(b.Magic)))
	has("", true)
	has(" append time", b.Attributes.LogAppendTime())
	has(" idempotent", b.ProducerID >= 0 && !b.Attributes.Transactional())
	has(" transactional", b.Attributes.Transactional() && !b.Attributes.Control())
	has(" horizon", horizon)
	has(" empty", b.Count == 0)
	has(" wrapped sequence", b.BaseSequence >= 0 && b.LastSequence() < b.BaseSequence)
	next := codec.NoOffset
	for r, err := range codec.Kafka().Records(b.Bytes) {
		require.NoError(t, err)
		has(" gap", next >= 0 && r.Offset != next)
		next = r.Offset + 1
		if b.Attributes.Control() {
			kind, _, err := controlOf(b, &r)
			require.NoError(t, err)
			has(" "+kind, true)
			continue
		}
		has(" no timestamp", r.Timestamp == codec.NoTimestamp)
		has(" key=null", r.Key == nil)
		has(" key=empty", r.Key != nil && len(r.Key) == 0)
		has(" value=null", r.Value == nil)
		has(" value=empty", r.Value != nil && len(r.Value) == 0)
		has(" value>64KiB", len(r.Value) > 64<<10)
		has(" headers", len(r.Headers) > 0)
		for _, h := range r.Headers {
			has(" null header", h.Value == nil)
		}
	}
	return all
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

// TestCompareBatches compares logs of Kafka 4.4 with what it read from them, and with something else.
func TestCompareBatches(t *testing.T) {
	for name, file := range map[string]string{
		"4.4.0/codecs":       "mixed-0/00000000000000000000.log",
		"4.4.0/transactions": "txn-0/00000000000000000000.log",
	} {
		dir := fixture.Golden(t, name)
		log := filepath.Join(dir, "data", filepath.FromSlash(file))
		lines, err := os.ReadFile(filepath.Join(dir, "expected", "records.jsonl"))
		require.NoError(t, err)
		var own []byte
		for line := range bytes.Lines(lines) {
			if bytes.Contains(line, []byte(`"file":"`+file+`"`)) {
				own = append(own, line...)
			}
		}
		var out bytes.Buffer
		require.Zero(t, run([]string{"-log", log, "-batches", write(t, own)}, &out, &out), out.String())
		require.Contains(t, out.String(), "differences=0")
		for _, change := range [][2]string{
			{`"producerEpoch":`, `"producerEpoch":7,"was":`},
			{`"valid":true`, `"valid":false`},
			{`"key":"`, `"key":"AAAA`},
			{`"crc":"`, `"crc":"f`},
			{`"offset":`, `"offset":9,"was":`},
			{`"batchSize":`, `"batchSize":1,"was":`},
			{string(own[bytes.LastIndexByte(own[:len(own)-1], '\n')+1:]), ""},
		} {
			wrong := bytes.Replace(own, []byte(change[0]), []byte(change[1]), 1)
			require.NotEqual(t, own, wrong)
			out.Reset()
			require.Equal(t, 1, run([]string{"-log", log, "-batches", write(t, wrong)}, &out, &out), "%s", change[1])
			require.Contains(t, out.String(), "differences=1")
		}
	}
}
