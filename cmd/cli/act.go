package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// interruptible returns a context that an interrupt ends.
func interruptible(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// detached means that an interrupt ended only the following of the run.
func detached(w environment, id string) error {
	_, _ = fmt.Fprintf(w.err,
		"writ: no longer following %[1]s; the run continues.\n  follow again  writ logs -f %[1]s\n  end it        writ "+
			"cancel %[1]s\n",
		oneLine(id, 80))
	return errSilent
}

// outage reports on standard error that the connection broke and that it was restored.
type outage struct{ err io.Writer }

func (o outage) lost(err error) {
	if err != nil {
		_, _ = fmt.Fprintf(o.err, "writ: the connection is lost, trying again: %s\n", oneLine(err.Error(), 300))
	} else {
		_, _ = fmt.Fprintln(o.err, "writ: connected again")
	}
}

type decisionBody struct {
	Reason          string `json:"reason,omitempty"`
	OverrideWindows bool   `json:"override_windows,omitempty"`
}

// actionCommand is a command that acts on one run and prints its state.
func actionCommand(w environment, verb, short string, withReason bool) *cobra.Command {
	var reason, match string
	var override bool
	c := &cobra.Command{Use: verb + " ID", Short: short, Args: args(cobra.ExactArgs(1))}
	if withReason {
		c.Flags().StringVarP(&reason, "reason", "m", "", "reason; it is recorded")
		c.Flags().StringVar(&match, "match", "", "`digest` of what the decision is about, which writ runs RUN shows")
	}
	if verb == "approve" {
		c.Flags().BoolVar(&override, "override-windows", false, "let the run start whatever windows say")
	}
	return clientCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		var body any
		if reason != "" || override {
			body = decisionBody{reason, override}
		}
		with := *c
		if match != "" {
			with.header = http.Header{"If-Match": {strconv.Quote(match)}}
		}
		var r record
		if err := with.call(ctx, http.MethodPost, runPath(a[0], "/"+verb), body, &r); err != nil {
			return err
		}
		s := newScreen(w)
		state := s.paint(r.state(), oneLine(r.state(), 40))
		if r.Canceling && !r.ended() {
			state = s.paint("canceled", "is being canceled")
		}
		err := out.print(r, "%s %s", oneLine(r.ID, 80), state)
		if err == nil && r.held() && !out.json {
			printWhy(ctx, s, c, r.ID)
		}
		return err
	})
}

// copy passes a whole log on and returns how many bytes it read.
func (l *logWriter) copy(r io.Reader) (total int64, err error) {
	if !l.tty {
		return io.Copy(l.w, r)
	}
	buf := make([]byte, 32<<10)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		total += int64(n)
		n += kept
		cut := n
		if err == nil {
			cut = wholeRunes(buf[:n])
		}
		if werr := l.write(string(buf[:cut])); werr != nil {
			return total, werr
		}
		kept = copy(buf, buf[cut:n])
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("the log is incomplete: %w", err)
		}
	}
}

// wholeRunes returns how much of b ends with a whole character.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return len(b)
			}
			return i
		}
	}
	return len(b)
}
