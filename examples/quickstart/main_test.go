package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestQuickstart runs the example as its reader would, and looks for what it promises to show.
func TestQuickstart(t *testing.T) {
	out, err := exec.Command("go", "run", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"no power cut loses what is below 5\n",
		"rolled, new segment: 5",
		"killed at end offset 10",
		"recovered 1 segments, end offset 10, 0 bytes cut",
		"offset 7: order-7 = two apples [{from quickstart}]\n",
		"offset 9: order-9",
		"first offset at or after 1700000004000: 4\n",
		"00000000000000000005.log",
		"00000000000000000010.snapshot",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
