package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// check compares what is in the partitions.
func (c *call) check() error {
	for partition := range partitions {
		if err := c.checkPartition(partition); err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	return nil
}

// checkPartition looks at a partition before and after it is opened.
func (c *call) checkPartition(partition int) error {
	if err := c.verify(partition); err != nil {
		return err
	}
	l, err := c.open(partition)
	if err != nil {
		return err
	}
	p := newPlan(partition, c.time)
	p.broker()
	err = errors.Join(p.checkLog(l), l.Close(), c.verify(partition))
	if err == nil {
		fmt.Fprintf(c.out, "RESULT opened=%s-%d records=%d committed=%d differences=0\n",
			topic, partition, len(p.records), len(p.visible(true)))
	}
	return err
}

// checkLog compares what a log says and what can be read in it.
func (p *plan) checkLog(l *log.Log) error {
	errs := []error{
		expect("end offset", l.EndOffset(), p.end),
		expect("stable offset", l.StableOffset(), p.stable()),
		p.checkEpochs(l.Epochs()), p.checkProducers(l),
	}
	for isolation, committed := range map[log.Isolation]bool{log.ReadUncommitted: false, log.ReadCommitted: true, log.ReadToEnd: false} {
		var got []record
		for r, err := range l.RecordsWith(context.Background(), 0, log.ReadOptions{Isolation: isolation}) {
			if err != nil {
				errs = append(errs, err)
				break
			}
			got = append(got, record{Record: r.Clone(), epoch: -1})
		}
		errs = append(errs, p.compare(got, committed))
	}
	return errors.Join(errs...)
}

// checkEpochs compares the leader epochs. Those of brokers follow.
func (p *plan) checkEpochs(got []log.Epoch) error {
	var want []log.Epoch
	for _, s := range p.steps {
		if len(want) == 0 || want[len(want)-1].Epoch != s.epoch {
			want = append(want, log.Epoch{Epoch: s.epoch, StartOffset: s.base})
		}
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		return fmt.Errorf("epochs are %v, want %v and those of brokers: %w", got, want, errDiffers)
	}
	return nil
}

// checkProducers compares the producers of the plan.
func (p *plan) checkProducers(l *log.Log) error {
	producers := l.Producers()
	var errs []error
	for _, c := range p.clients {
		if c.kind == plain {
			continue
		}
		i := slices.IndexFunc(producers, func(q segment.Producer) bool { return q.ID == c.id })
		if i < 0 {
			errs = append(errs, fmt.Errorf("producer %d is unknown: %w", c.id, errDiffers))
			continue
		}
		errs = append(errs, c.compare(&producers[i]))
	}
	return errors.Join(errs...)
}

// verify looks for damage in a partition. What a restart leaves is none.
func (c *call) verify(partition int) (err error) {
	fsys, err := fsio.OS(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	for f, err := range log.Verify(context.Background(), fsys, fmt.Sprintf("%s-%d", topic, partition), log.VerifyOptions{Deep: true}) {
		if err != nil {
			return err
		}
		if f.Severity == log.SeverityInfo {
			continue
		}
		return fmt.Errorf("%s: %s: %w", f.File, f.Message, errDiffers)
	}
	return nil
}
