package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/cli"
)

// patience is how long what has to come is waited for. Only what never comes takes so long, however busy the machine is.
const patience = 5 * time.Minute

// program is the path of the command: the test itself, which is strata under that name.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "strata")
	require.NoError(t, os.Symlink(self, name))
	return name
}

// start starts append on the partition in dir, and comes back when it waits for input.
func start(t *testing.T, dir string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	out = &bytes.Buffer{}
	cmd = exec.Command(program(t), "append", "--batch-records", "2", dir)
	cmd.Stdout, cmd.Stderr = out, out
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, err = in.Write([]byte("1\n2\n3\n"))
	require.NoError(t, err)
	log := filepath.Join(dir, "00000000000000000000.log")
	require.Eventually(t, func() bool { // the third record flushes the first two
		info, err := os.Stat(log)
		return err == nil && info.Size() > 0
	}, patience, time.Millisecond)
	return cmd, out
}

// TestAppendInterrupted interrupts an append that waits for input: it closes the log, with all that it has
// read, and tells.
func TestAppendInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a-0")
	cmd, out := start(t, dir)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	assert.Equal(t, cli.ExitInterrupted, cmd.ProcessState.ExitCode())
	assert.Contains(t, out.String(), "offsets 0 to 2")
	got := run(t, "", "cat", "-f", "%s,", dir)
	assert.Equal(t, result{0, "1,2,3,", ""}, got)
}

// TestInterruptedInHole interrupts verbs that are on their way over a hole of 256 GiB.
func TestInterruptedInHole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a-0")
	require.Equal(t, 0, run(t, strings.Repeat("some text\n", 50_000), "append", "--batch-records", "50000", dir).status)
	require.NoError(t, os.Truncate(filepath.Join(dir, "00000000000000000000.log"), 1<<38))
	for _, row := range [][]string{
		{"cat", dir},
		{"dump", "--deep-iteration", "--max-bytes", strconv.FormatInt(1<<38, 10), dir},
	} {
		t.Run(row[0], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, program(t), row...)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.CopyN(io.Discard, out, 400_000) // what is before the hole has more
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			_, err = io.Copy(io.Discard, out)
			require.NoError(t, err)
			_ = cmd.Wait()
			assert.Equal(t, cli.ExitInterrupted, cmd.ProcessState.ExitCode())
		})
	}
}

// TestAppendMark kills an append in a log directory with the mark of a clean stop: a broker must not find
// the mark then, and finds it again, as it was, behind one that has ended.
func TestAppendMark(t *testing.T) {
	above := t.TempDir()
	mark := filepath.Join(above, ".kafka_cleanshutdown")
	const content = `{"version":0,"brokerEpoch":17}`
	require.NoError(t, os.WriteFile(mark, []byte(content), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(above, ".lock"), nil, 0o644))
	dir := filepath.Join(above, "a-0")

	require.Equal(t, 0, run(t, "x\n", "append", dir).status)
	got, err := os.ReadFile(mark)
	require.NoError(t, err)
	assert.Equal(t, content, string(got))

	cmd, _ := start(t, filepath.Join(above, "b-0"))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.NoFileExists(t, mark)
}
