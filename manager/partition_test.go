package manager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/manager"
)

// H31 testParseTopicPartitionName, and its failures.
func TestParsePartition(t *testing.T) {
	long := strings.Repeat("x", 249)
	for name, want := range map[string]manager.Partition{
		"orders-0":                  {Topic: "orders", ID: 0},
		"orders-2147483647":         {Topic: "orders", ID: 2147483647},
		"a-topic.with_odd-name-7-0": {Topic: "a-topic.with_odd-name-7", ID: 0},
		"__consumer_offsets-49":     {Topic: "__consumer_offsets", ID: 49},
		"...-1":                     {Topic: "...", ID: 1},
		"-1-1":                      {Topic: "-1", ID: 1},
		"t--1":                      {Topic: "t-", ID: 1},
		long + "-5":                 {Topic: long, ID: 5},
	} {
		got, err := manager.ParsePartition(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
		assert.Equal(t, name, got.String())
	}
	for _, name := range []string{
		"", "-", "orders", "testtopic1999", "-1999", "topic-", "topic-1999a", "non_kafka_dir", "non-kafka-dir", // A24, A25
		".-0", "..-0", "or ders-0", "or/ders-0", "örders-0", "orders-2147483648", "orders-00", "orders-+1", "orders- 1",
		long + "x-5", "orders-0.131d091d1c14421fa24f76acf770a0ed-delete", "lost+found",
	} {
		_, err := manager.ParsePartition(name)
		assert.ErrorIs(t, err, manager.ErrName, name)
	}
}

func TestRole(t *testing.T) {
	for role, want := range map[manager.Role]string{
		manager.Current: "current", manager.Future: "future", manager.Stray: "stray", manager.Deleting: "deleting", 9: "role 9",
	} {
		assert.Equal(t, want, role.String())
	}
}
