package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// interruptible returns a context that an interrupt ends.
func interruptible(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// actionCommand is a command that acts on one run and prints its state.
func actionCommand(w world, verb, short string, withReason bool) *cobra.Command {
	var conn connection
	var asJSON bool
	var reason string
	c := &cobra.Command{
		Use: verb + " ID", Short: short, Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := conn.client(w)
			if err != nil {
				return err
			}
			var body any
			if reason != "" {
				body = map[string]string{"reason": reason}
			}
			var r record
			if err := cl.call(c.Context(), http.MethodPost, runPath(a[0], "/"+verb), body, &r); err != nil {
				return err
			}
			if asJSON {
				return printJSON(w.out, r)
			}
			s := newScreen(w)
			_, err = fmt.Fprintf(s.w, "%s %s\n", plainText(r.ID), s.paint(r.Status, plainText(r.Status)))
			return err
		},
	}
	conn.register(c)
	if withReason {
		c.Flags().StringVarP(&reason, "reason", "m", "", "why, for the record")
	}
	jsonFlag(c, &asJSON)
	return c
}

// copy passes a whole log on.
func (l *logWriter) copy(r io.Reader) error {
	if !l.tty {
		_, err := io.Copy(l.w, r)
		return err
	}
	buf := make([]byte, 32<<10)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		n += kept
		cut := n
		if err == nil {
			cut = wholeRunes(buf[:n])
		}
		if werr := l.write(string(buf[:cut])); werr != nil {
			return werr
		}
		kept = copy(buf, buf[cut:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the log broke off: %w", err)
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
