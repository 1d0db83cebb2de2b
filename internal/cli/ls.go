package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/manager"
)

// lsLine is what ls tells of a partition.
type lsLine struct {
	Type         string  `json:"type"` // partition
	Dir          string  `json:"dir"`
	Topic        string  `json:"topic"`
	Partition    int32   `json:"partition"`
	TopicID      *string `json:"topicId"`
	Role         string  `json:"role"` // current, future, stray or deleting
	Bytes        int64   `json:"bytes"`
	Segments     int     `json:"segments"`
	StartOffset  int64   `json:"logStartOffset"`
	EndOffset    int64   `json:"logEndOffset"`
	MaxTimestamp int64   `json:"maxTimestamp"`
	Error        *string `json:"error"` // why it cannot be read
}

// newLs is the verb ls.
func newLs(e *env) *cobra.Command {
	var topic string
	cmd := &cobra.Command{
		Use:   "ls [flags] [DIR...]",
		Short: "List the partitions of log directories",
		Long: "ls lists the partitions of log directories, of the working directory where none is named: a row\n" +
			"each, with what is on disk. Where a broker is at work the end may be higher by now.",
		Args: takes(0, -1, "log directories"),
		Example: "  strata ls /var/lib/kafka\n" +
			"  strata ls --topic 'orders.*' -o json /var/lib/kafka",
	}
	asJSON := textOrJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		asJSON, err := asJSON()
		if err != nil {
			return err
		}
		only, err := regexp.Compile("^(?:" + topic + ")$")
		if err != nil {
			return usagef("--topic is no regular expression: %v", err)
		}
		if len(args) == 0 {
			args = []string{"."}
		}
		l := &ls{env: e, only: only, asJSON: asJSON}
		l.table = tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		err = each(cmd.Context(), e, args, func(dir string) error { return l.dir(cmd.Context(), dir) })
		if closed := l.close(); err == nil {
			err = closed
		}
		return err
	}
	cmd.Flags().StringVar(&topic, "topic", ".*", "only topics that match this regular expression as a whole")
	return cmd
}

// ls is one run of the verb.
type ls struct {
	*env
	only   *regexp.Regexp
	asJSON bool
	table  *tabwriter.Writer
	rows   int
	bad    bool // a partition could not be read
}

// dir lists the partitions of the log directory dir.
func (l *ls) dir(ctx context.Context, dir string) (err error) {
	at, err := openPlace(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.fsys.Close()) }()
	if !at.isDir() {
		return usagef("%s is a file: ls takes log directories", dir)
	}
	if holdsSegments(at.fsys) {
		return usagef("%s is a partition's directory: use strata stat, or name the directory above", dir)
	}
	v, err := manager.OpenView(ctx, at.fsys)
	if err != nil {
		return err
	}
	for _, w := range v.Warnings() {
		l.notice("%s: %v", path.Join(dir, w.File), w.Err)
	}
	open := func(p manager.PartitionView) (*log.Log, error) { return v.Open(ctx, p, log.Options{}) }
	for _, p := range v.Partitions() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !l.only.MatchString(p.Topic) {
			continue
		}
		if err := l.row(newLsLine(open, p, path.Join(dir, p.Dir))); err != nil {
			return err
		}
	}
	return nil
}

// openView opens the log of a partition to be looked at.
type openView func(manager.PartitionView) (*log.Log, error)

// newLsLine is the line of the partition p, whose directory is dir.
func newLsLine(open openView, p manager.PartitionView, dir string) lsLine {
	line := lsLine{
		Type: "partition", Dir: dir, Topic: p.Topic, Partition: p.ID, Role: roleText(p.Role),
		StartOffset: codec.NoOffset, EndOffset: codec.NoOffset, MaxTimestamp: codec.NoTimestamp,
	}
	if p.TopicID != [16]byte{} {
		id := checkpoint.FormatID(p.TopicID)
		line.TopicID = &id
	}
	if err := line.read(open, p); err != nil {
		text := err.Error()
		line.Error = &text
	}
	return line
}

// read fills in what the log of p tells.
func (line *lsLine) read(open openView, p manager.PartitionView) (err error) {
	l, err := besideWriter(func() (*log.Log, error) { return open(p) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	stats := l.Stats()
	line.StartOffset, line.EndOffset = stats.StartOffset, stats.EndOffset
	line.Segments, line.Bytes = stats.Segments, stats.Bytes
	for _, s := range l.State().Segments {
		line.MaxTimestamp = max(line.MaxTimestamp, s.MaxTimestamp)
	}
	return nil
}

// row shows line.
func (l *ls) row(line lsLine) error {
	l.bad = l.bad || line.Error != nil
	if l.asJSON {
		return jsonLines(l.out).Encode(line)
	}
	if l.rows++; l.rows == 1 {
		fmt.Fprint(l.table, "SEGMENTS\tSIZE\tSTART\tEND\tLARGEST TIMESTAMP\tTOPIC ID\tPARTITION\tNOTE\n")
	}
	id, note := "-", ""
	if line.TopicID != nil {
		id = *line.TopicID
	}
	if line.Role != roleText(manager.Current) {
		note = line.Role
	}
	if line.Error != nil {
		note = "cannot be read: " + *line.Error
	}
	_, err := fmt.Fprintf(l.table, "%d\t%s\t%d\t%d\t%s\t%s\t%s-%d\t%s\n", line.Segments, sizeText(line.Bytes),
		line.StartOffset, line.EndOffset, timeText(line.MaxTimestamp), id, line.Topic, line.Partition, note)
	return err
}

// close ends the list.
func (l *ls) close() error {
	if err := l.table.Flush(); err != nil {
		return err
	}
	if l.bad {
		return errProblems
	}
	return nil
}

// roleText is the word for a role.
func roleText(r manager.Role) string {
	return [...]string{manager.Current: "current", manager.Future: "future", manager.Stray: "stray", manager.Deleting: "deleting"}[r]
}
