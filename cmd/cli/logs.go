package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/config"
)

func logsCommand(w world) *cobra.Command {
	var conn connection
	var follow bool
	var tail config.Size
	c := &cobra.Command{
		Use: "logs ID", Short: "Print the output of a run", Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := conn.client(w)
			if err != nil {
				return err
			}
			if follow {
				return followLog(c.Context(), w, cl, a[0])
			}
			return printLog(c.Context(), w, cl, a[0], int64(tail))
		},
	}
	conn.register(c)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow a run that has not ended; exit as it ended")
	config.SizeVar(c.Flags(), &tail, "tail", 0, "only this many bytes at the end")
	return c
}

func printLog(ctx context.Context, w world, c *client, id string, tail int64) error {
	path := runPath(id, "/logs")
	if tail > 0 {
		path += "?tail=" + strconv.FormatInt(tail, 10)
	}
	resp, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	out := logWriter{screen: newScreen(w)}
	if n := resp.Header.Get("Service-Log-Omitted-Bytes"); n != "" && tail == 0 {
		_, _ = fmt.Fprintf(w.err, "writ: %s bytes of the log were not kept\n", plainText(n))
	}
	return out.copy(resp.Body)
}

// logOnly shows a run's output and nothing else.
type logOnly struct{ out logWriter }

func (*logOnly) run(record)              {}
func (*logOnly) event(event)             {}
func (l *logOnly) log(text string) error { return l.out.write(text) }

func followLog(ctx context.Context, w world, c *client, id string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	r, err := c.follow(ctx, id, &logOnly{out: logWriter{screen: newScreen(w)}})
	if errors.Is(err, context.Canceled) {
		return errSilent
	}
	if err != nil {
		return err
	}
	if r.Status != "succeeded" {
		_, _ = fmt.Fprintf(w.err, "writ: %s %s %s\n", r.ID, r.Status, oneLine(r.Error, 400))
	}
	return r.verdict()
}
