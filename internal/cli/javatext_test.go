package cli

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestJavaText compares with what a JVM made of the same bytes.
func TestJavaText(t *testing.T) {
	rows, err := os.ReadFile("testdata/java-utf8.txt")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for row := range strings.Lines(string(rows)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		in, want, _ := strings.Cut(strings.TrimSpace(row), " ")
		bytes, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(javaText(nil, bytes)); got != want {
			t.Errorf("javaText(%s) = %s, want %s", in, got, want)
		}
		checked++
	}
	if checked != 400 {
		t.Errorf("checked %d rows, want 400", checked)
	}
}
