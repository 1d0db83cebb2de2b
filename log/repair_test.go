package log_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// Kafka repairs a segment when it comes to it: of the segments before that the last two get snapshots, where no later
// one is left by a repair before (trace recovery-damage-2).
func TestRepairTakesSnapshots(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Resume = &log.Resume{}
		w.open()
		for i := range int32(6) {
			w.append(produced(t, 1, 0, i, false, 1))
			_, err := w.l.Roll()
			require.NoError(t, err)
		}
		w.kill()
		w.remove(name20(1)+".index", name20(6)+".index")
		w.o.Resume = &log.Resume{RecoveryPoint: 6}
		w.open()
		var snapshots []string
		for _, name := range w.names() {
			if strings.HasSuffix(name, ".snapshot") {
				snapshots = append(snapshots, name)
			}
		}
		require.Equal(t, []string{
			name20(1) + ".snapshot", name20(2) + ".snapshot", name20(4) + ".snapshot", name20(5) + ".snapshot", name20(6) + ".snapshot",
		}, snapshots)
	})
}
