package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestSealed runs the example as its reader would, and looks for what it promises to show.
func TestSealed(t *testing.T) {
	out, err := exec.Command("go", "run", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"secrets to be seen in the file: false", "offset 0: one secret", "offset 1: another secret",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
