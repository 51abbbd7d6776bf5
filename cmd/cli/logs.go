package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/runs"
)

// logFlags say what of a run's output is printed.
type logFlags struct {
	follow     bool
	tail       int64
	find, step string
}

const logsExample = `  writ logs latest -f
  writ logs latest --find 'fatal:'
  writ logs run_01m7yhrqq9d6r0e7tgwpwzadbc --step deploy --tail 64KiB`

func logsCommand(w environment) *cobra.Command {
	w.conn = &connection{}
	var f logFlags
	c := &cobra.Command{
		Use: "logs RUN", Short: "Print the output of a run", Args: args(cobra.ExactArgs(1)), Example: logsExample,
		Long: "Prints the output of a run. The lines of a pipeline begin with the name of their step; --step prints one\n" +
			"step alone. On a terminal colours stay and other control sequences are shown; elsewhere no byte is changed,\n" +
			"except that --no-color and NO_COLOR remove colours.\n" + latestHelp,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := w.conn.client(c.Context(), w)
			if err != nil {
				return err
			}
			switch {
			case f.follow && f.tail > 0:
				return usagef("use one of --follow and --tail, not both")
			case f.find != "" && (f.follow || f.tail > 0):
				return usagef("--find searches the whole output: omit --follow and --tail")
			}
			return f.print(c.Context(), w, cl, a[0])
		},
	}
	c.ValidArgsFunction = completeArguments(w, "run")
	w.conn.register(w, c)
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "follow the run to its end, and exit with its result")
	config.SizeVar(c.Flags(), &f.tail, "tail", 0, "only this many bytes at the end")
	c.Flags().StringVar(&f.find, "find", "", "only the lines with this text, with their numbers")
	c.Flags().StringVar(&f.step, "step", "", "only this step of a pipeline")
	return c
}

func (f *logFlags) print(ctx context.Context, w environment, c *client, name string) error {
	id, err := c.runID(ctx, name)
	if err != nil {
		return err
	}
	if f.step != "" {
		if id, err = c.stepRun(ctx, id, f.step); err != nil {
			return err
		}
	}
	if f.follow {
		return followLog(ctx, w, c, id)
	}
	out := logWriter{screen: newScreen(w)}
	n, err := f.one(ctx, w, c, id, &out)
	if err == nil && n == 0 && f.step == "" {
		return f.ofSteps(ctx, w, c, id)
	}
	return err
}

// one prints the output of one run, and returns how much that was.
func (f *logFlags) one(ctx context.Context, w environment, c *client, id string, out *logWriter) (int64, error) {
	if f.find != "" {
		return c.found(ctx, id, f.find, out)
	}
	path := runPath(id, "/logs")
	if f.tail > 0 {
		path += "?tail=" + strconv.FormatInt(f.tail, 10)
	}
	resp, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if n := resp.Header.Get("Service-Log-Omitted-Bytes"); n != "" && f.tail == 0 {
		_, _ = fmt.Fprintf(w.err, "writ: %s bytes of the log were not kept\n", plainText(n))
	}
	return out.copy(resp.Body)
}

// maxHits is the most that the server returns of one search.
const maxHits = 1000

// found prints the lines of a run's output that hold a text.
func (c *client) found(ctx context.Context, id, text string, out *logWriter) (int64, error) {
	var page struct {
		Total int64 `json:"total"`
		Hits  []struct {
			Line int64  `json:"line"`
			Text string `json:"text"`
		} `json:"hits"`
	}
	q := url.Values{"q": {text}, "case": {"1"}, "limit": {strconv.Itoa(maxHits)}}
	if err := c.call(ctx, http.MethodGet, runPath(id, "/logs/find?"+q.Encode()), nil, &page); err != nil {
		return 0, err
	}
	for _, h := range page.Hits {
		if err := out.write(fmt.Sprintf("%d: %s\n", h.Line, strings.TrimRight(h.Text, "\r\n"))); err != nil {
			return page.Total, err
		}
	}
	if more := page.Total - int64(len(page.Hits)); more > 0 {
		return page.Total, out.write(fmt.Sprintf("and %s\n", count(int(more), "more line")))
	}
	return page.Total, nil
}

// stepRun returns the id of the newest run of a step.
func (c *client) stepRun(ctx context.Context, id, step string) (string, error) {
	var r record
	if err := c.call(ctx, http.MethodGet, runPath(id, ""), nil, &r); err != nil {
		return "", err
	}
	names := make([]string, 0, len(r.Steps))
	for _, s := range r.Steps {
		switch {
		case s.Name == step && s.RunID != "":
			return s.RunID, nil
		case s.Name == step && s.Status == string(runs.Skipped):
			return "", fmt.Errorf("step %q was skipped: see writ runs %s", step, oneLine(id, 80))
		case s.Name == step:
			return "", fmt.Errorf("step %q has not begun: follow the pipeline with writ logs -f %s", step, oneLine(id, 80))
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("run %s has no steps", oneLine(id, 80))
	}
	return "", fmt.Errorf("there is no step %q, only %s", step, oneLine(strings.Join(names, ", "), 1000))
}

// ofSteps prints the output of the steps of a pipeline in their order. It explains the empty log of a split.
func (f *logFlags) ofSteps(ctx context.Context, w environment, c *client, id string) error {
	var r record
	if c.call(ctx, http.MethodGet, runPath(id, ""), nil, &r) != nil {
		return nil
	}
	if r.Kind == "split" {
		_, _ = fmt.Fprintf(w.err, "writ: a split prints nothing itself, its parts do: writ runs %s\n", oneLine(id, 80))
	}
	s := newScreen(w)
	for _, x := range r.Steps {
		if x.RunID == "" {
			continue
		}
		of := s
		to := &prefixed{to: s.w, prefix: s.prefix(x.Name, r.prefixWidth()), tty: s.tty}
		of.w = to
		if _, err := f.one(ctx, w, c, x.RunID, &logWriter{screen: of}); err != nil {
			return err
		}
		if err := to.flush(); err != nil {
			return err
		}
	}
	return nil
}

// logOnly prints only a run's output, and of a pipeline that of its steps.
type logOnly struct {
	outage
	out   logWriter
	width int
	lines *prefixed // of a step
}

var _ familyWatcher = (*logOnly)(nil)

func (l *logOnly) run(r record) {
	l.width = r.prefixWidth()
	if r.held() {
		l.say("%s is held: writ approve %[1]s", oneLine(r.ID, 80))
	}
}

func (*logOnly) event(event)             {}
func (l *logOnly) log(text string) error { return l.out.write(text) }

func (l *logOnly) waits(reasons []runs.Reason) {
	for _, r := range reasons {
		l.say("waiting: %s", oneLine(strings.TrimSuffix(r.Text+"; "+r.Next, "; "), 400))
	}
}

func (l *logOnly) skipped(name, reason string) {
	l.say("%s", strings.TrimSuffix(oneLine("step "+name+" skipped: "+reason, 400), ":"))
}

func (l *logOnly) say(format string, a ...any) { _, _ = fmt.Fprintf(l.err, "writ: "+format+"\n", a...) }

func (l *logOnly) step(name string) stepWatcher {
	if _, ok := l.out.w.(*shared); !ok {
		l.out.w, l.err = &shared{w: l.out.w}, &shared{w: l.err}
	}
	return l.stepOf(name)
}

func (l *logOnly) stepOf(name string) *logOnly {
	s := l.out.screen
	to := &prefixed{to: s.w, prefix: s.prefix(name, l.width), tty: s.tty}
	s.w = to
	return &logOnly{outage: l.outage, out: logWriter{screen: s}, lines: to}
}

func (l *logOnly) end(record, []failure) { _ = l.lines.flush() }

func followLog(ctx context.Context, w environment, c *client, id string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	to := &logOnly{outage: outage{w.err}, out: logWriter{screen: newScreen(w)}}
	r, err := c.followFamily(ctx, id, to, w.err)
	if err != nil {
		return stopped(ctx, w, id, err)
	}
	if r.Status != "succeeded" {
		_, _ = fmt.Fprintf(w.err, "writ: %s\n", strings.TrimSuffix(oneLine(r.ID+" "+r.Status+": "+r.Error, 400), ":"))
	}
	return r.verdict()
}

// copy passes a whole log on and returns how many bytes it read.
func (l *logWriter) copy(r io.Reader) (total int64, err error) {
	if !l.tty && !l.bare {
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
			if l.tty {
				return total, nil
			}
			_, err = io.WriteString(l.w, l.held)
			return total, err
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
