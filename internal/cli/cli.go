package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// The exit statuses of the command.
const (
	ExitOK          = 0   // done
	ExitFailed      = 1   // the operation failed: the system, or unreadable input
	ExitUsage       = 2   // wrong arguments
	ExitProblems    = 3   // done, and what was looked at is damaged
	ExitInUse       = 4   // the directory is in use by somebody else
	ExitRefused     = 5   // records that were acknowledged would be lost: a flag --force-… is needed
	ExitInterrupted = 130 // an interrupt came
)

// errProblems says that a verb did its work and met damage, which it has told of.
var errProblems = errors.New("problems found")

// usageError is an error of the command line: its text says what to do.
type usageError struct{ text string }

// Error is the text.
func (e *usageError) Error() string { return e.text }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// refusal is an error that says why something is not done, although it could be, and which flag has it done.
type refusal struct{ text string }

// Error is the text.
func (r *refusal) Error() string { return r.text }

// toldError are errors of which was told when they were met, since the verb went on with other things.
type toldError struct{ error }

// Unwrap are the errors.
func (t *toldError) Unwrap() error { return t.error }

// env is what the verbs of one run have of the world.
type env struct {
	in   io.Reader
	out  *bufio.Writer // flushed when the verb has ended
	errs io.Writer
}

// notice tells something on standard error, as a line of its own.
func (e *env) notice(format string, args ...any) {
	// Notices and data keep their order where both go to one terminal. Where they cannot be written there
	// is nobody to tell.
	_ = e.out.Flush()
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") // errors.Join has a line for each
	fmt.Fprintf(e.errs, "strata: %s\n", text)
}

// each calls do for each of things. Of one that fails it tells at once, and goes on with the next; an interrupt, and
// output that is not taken any more, ends it.
func each[T any](ctx context.Context, e *env, things []T, do func(T) error) error {
	var failed []error
	for _, thing := range things {
		if err := e.stopped(ctx); err != nil {
			return err
		}
		err := do(thing)
		switch {
		case err == nil:
		case e.stopped(ctx) != nil:
			return err
		default:
			e.tellError(err)
			failed = append(failed, err)
		}
	}
	return asTold(failed)
}

// asTold are errors of which was told, as one; nil where there are none.
func asTold(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return &toldError{err}
	}
	return nil
}

// tellError tells of err on standard error, unless that was done.
func (e *env) tellError(err error) {
	if _, told := errors.AsType[*toldError](err); !told {
		e.notice("%v", err)
	}
}

// stopped says why a verb is to end early: an interrupt came, or what it writes is not taken any more.
func (e *env) stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := e.out.Write(nil)
	return err
}

// Main runs the command line args, without the program's name, and returns its exit status.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second interrupt does not ask
	signal.Ignore(syscall.SIGPIPE) // where nobody reads on, a write fails, and the verb ends
	e := &env{in: in, out: bufio.NewWriterSize(out, 64<<10), errs: errs}
	root := newRoot(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if flushed := e.out.Flush(); err == nil || errors.Is(err, errProblems) && flushed != nil {
		err = flushed
	}
	return e.status(ctx, err)
}

// status tells err on standard error, unless that was done, and returns the exit status for it.
func (e *env) status(ctx context.Context, err error) int {
	status := statusOf(ctx, err)
	switch status {
	case ExitOK, ExitProblems, ExitInterrupted:
		return status
	}
	e.tellError(err)
	return status
}

// statusOf is the exit status for err.
func statusOf(ctx context.Context, err error) int {
	var usage *usageError
	var refused *refusal
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return ExitOK
	case errors.Is(err, errProblems):
		return ExitProblems
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, fsio.ErrLocked):
		return ExitInUse
	case errors.As(err, &refused):
		return ExitRefused
	}
	return ExitFailed
}
