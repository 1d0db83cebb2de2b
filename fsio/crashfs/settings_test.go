package crashfs_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/fsio/crashfs"
)

// save is the program under test: it knows afero, and nothing of this module.
func save(fs afero.Fs, text string) error {
	if err := afero.WriteFile(fs, "settings.tmp", []byte(text), 0o644); err != nil {
		return err
	}
	return fs.Rename("settings.tmp", "settings")
}

func load(fs afero.Fs) (string, error) {
	text, err := afero.ReadFile(fs, "settings")
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// saveSafely is save as the page makes it in the end.
func saveSafely(fs afero.Fs, text string) error {
	f, err := fs.Create("settings.tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename("settings.tmp", "settings"); err != nil {
		return err
	}
	dir, err := fs.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// crashSettings is the test of the page.
func crashSettings(t testing.TB, save func(fs afero.Fs, text string) error) crashfs.Report {
	texts := []string{"", "one", "two", "three"}
	workload := func(_ testing.TB, disk *crashfs.FS) error {
		for _, text := range texts[1:] {
			if err := save(aferofs.ToAfero(disk), text); err != nil {
				return err
			}
			disk.Ack(text)
		}
		return nil
	}
	check := func(_ testing.TB, image *crashfs.FS, h crashfs.History) error {
		got, err := load(aferofs.ToAfero(image))
		if at := slices.Index(texts, got); err == nil && at < len(h.Acks) {
			err = fmt.Errorf("settings are %q, saved were %q", got, h.Acks)
		}
		return err
	}
	return crashfs.CrashEverywhere(t, crashfs.Config{Policies: []crashfs.Policy{crashfs.Strict}}, workload, check)
}

// pageTest is the test as the page calls it.
type pageTest struct{ testing.TB }

func (pageTest) Name() string { return "TestSettings" }

// TestCrashPage does what docs/crash-test.md tells, and holds its code and its output against this file.
func TestCrashPage(t *testing.T) {
	q := &quiet{TB: pageTest{t}}
	crashSettings(q, save)
	require.NotEmpty(t, q.text())
	t.Log(q.text())
	crashSettings(t, saveSafely)

	page, err := os.ReadFile("../../docs/crash-test.md")
	require.NoError(t, err)
	source, err := os.ReadFile("settings_test.go")
	require.NoError(t, err)
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	blocks := strings.Split(string(page), "```")
	for i := 1; i < len(blocks); i += 2 {
		kind, text, _ := strings.Cut(blocks[i], "\n")
		switch kind {
		case "go":
			require.Contains(t, squeeze(string(source)), squeeze(text))
		case "text":
			require.Contains(t, squeeze(q.text()), squeeze(text))
		}
	}
}
