//go:build unix && !linux

package fsio

// largeFile is what Linux alone needs.
const largeFile = 0
