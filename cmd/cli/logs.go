package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/config"
)

func logsCommand(w environment) *cobra.Command {
	var conn connection
	var follow bool
	var tail int64
	c := &cobra.Command{
		Use: "logs ID", Short: "Print the output of a run", Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := conn.client(w)
			if err != nil {
				return err
			}
			if follow && tail > 0 {
				return usagef("use one of --follow and --tail, not both")
			}
			if follow {
				return followLog(c.Context(), w, cl, a[0])
			}
			return printLog(c.Context(), w, cl, a[0], tail)
		},
	}
	conn.register(c)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow the run to its end, and exit with its result")
	config.SizeVar(c.Flags(), &tail, "tail", 0, "only this many bytes at the end")
	return c
}

func printLog(ctx context.Context, w environment, c *client, id string, tail int64) error {
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
	n, err := out.copy(resp.Body)
	if err == nil && n == 0 && tail == 0 {
		c.whoPrints(ctx, w, id)
	}
	return err
}

// whoPrints explains the empty log of a run with parts.
func (c *client) whoPrints(ctx context.Context, w environment, id string) {
	var r record
	if c.call(ctx, http.MethodGet, runPath(id, ""), nil, &r) != nil {
		return
	}
	if r.Kind == "split" || r.Kind == "pipeline" {
		_, _ = fmt.Fprintf(w.err, "writ: a %s prints nothing itself, its parts do: writ runs %s\n", r.Kind, oneLine(id, 80))
	}
}

// logOnly prints only a run's output.
type logOnly struct {
	outage
	out logWriter
}

func (*logOnly) run(record)              {}
func (*logOnly) event(event)             {}
func (l *logOnly) log(text string) error { return l.out.write(text) }

func followLog(ctx context.Context, w environment, c *client, id string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	r, err := c.follow(ctx, id, &logOnly{outage: outage{w.err}, out: logWriter{screen: newScreen(w)}})
	if errors.Is(err, context.Canceled) {
		return detached(w, id)
	}
	if err != nil {
		return err
	}
	if r.Status != "succeeded" {
		_, _ = fmt.Fprintf(w.err, "writ: %s\n", strings.TrimSuffix(oneLine(r.ID+" "+r.Status+": "+r.Error, 400), ":"))
	}
	return r.verdict()
}
