// Package gate is the wait of a Map's Resize and Close for the Views that run, alike on all filesystems.
package gate
