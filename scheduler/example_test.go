package scheduler_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stratalog/strata/scheduler"
)

// A day of a store passes at once: Next tells when something will run, Advance goes there.
func ExampleManual() {
	m := scheduler.NewManual(scheduler.ManualOptions{})
	m.Schedule("retention", time.Hour, 8*time.Hour, func(context.Context) {
		fmt.Println("retention at", m.Now().Format(time.TimeOnly))
	})
	for {
		at, ok := m.Next()
		if !ok || at.After(time.Unix(0, 0).Add(24*time.Hour)) {
			break
		}
		m.Advance(at.Sub(m.Now()))
	}
	fmt.Println(m.Close(context.Background()))
	// Output:
	// retention at 01:00:00
	// retention at 09:00:00
	// retention at 17:00:00
	// <nil>
}
