package crashfs_test

import (
	"testing"

	"github.com/stratalog/strata/fsio/crashfs"
)

// BenchmarkImages explores the reference store, checks included: images/s. For one core:
//
//	GOMAXPROCS=1 go test -run '^$' -bench Images ./fsio/crashfs
func BenchmarkImages(b *testing.B) {
	for _, x := range explorations() {
		b.Run(x.name, func(b *testing.B) {
			images := 0
			for b.Loop() {
				images += crashfs.CrashEverywhere(b, x.config, x.workload(noBug), held(noBug)).Images
			}
			b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// BenchmarkLong explores 1,500 events in full, as TestCrashLong does: one time is enough (-benchtime 1x).
func BenchmarkLong(b *testing.B) {
	images, steps := 0, 0
	for b.Loop() {
		report := crashfs.CrashEverywhere(b, full, work(noBug, longRounds), held(noBug))
		images, steps = images+report.Images, report.Steps
	}
	b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "images/s")
	b.ReportMetric(float64(steps), "steps")
}
